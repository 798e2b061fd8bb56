# frozen_string_literal: true

module Tiercel
  module Store
    module FastPath
      # Events for subscribers: the same as those of Rails' `instrument`, from
      # the same notifier, without the detours on the way to it.
      #
      # @private
      module Observation
        READ = "cache_read.active_support"

        NOBODY = {}.freeze
        private_constant :NOBODY

        private

        # Who subscribes to an event at this moment, by the way they are called. Most often nobody, so the cheaper
        # question comes first.
        #
        # @return [Hash{Class => Array}]
        def subscribers(event)
          notifier = ActiveSupport::Notifications.notifier
          notifier.all_listeners_for(event).empty? ? NOBODY : notifier.groups_for(event)
        end

        def observed?(event) = !subscribers(event).empty?

        # As `ActiveSupport::Notifications::Instrumenter#instrument` does it, for
        # the usual case: all subscribers are called in one way.
        def observe_read(name, key, options, subscribers)
          key = normalize_key(name, options) unless name.instance_of?(String) && key.encoding == Encoding::UTF_8
          return instrument(:read, key, options) { |payload| yield payload } unless subscribers.size == 1
          payload = { key: key, store: self.class.name }.merge!(options)
          id = ActiveSupport::Notifications.instrumenter.id
          kind, listeners = subscribers.first
          group = kind.new(listeners, READ, id, payload)
          group.start(READ, id, payload)
          begin
            yield payload
          rescue Exception => error # rubocop:disable Lint/RescueException
            payload[:exception] = [error.class.name, error.message]
            payload[:exception_object] = error
            raise
          ensure
            group.finish(READ, id, payload)
          end
        end
      end
    end
  end
end
