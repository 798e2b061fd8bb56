# frozen_string_literal: true

module Tiercel
  module Store
    module FastPath
      # Names of the events.
      READ = "cache_read.active_support"
      READ_MULTI = "cache_read_multi.active_support"
      FETCH_HIT = "cache_fetch_hit.active_support"
      GENERATE = "cache_generate.active_support"
      WRITE = "cache_write.active_support"
      WRITE_MULTI = "cache_write_multi.active_support"
      DELETE = "cache_delete.active_support"
      EXIST = "cache_exist?.active_support"
      INCREMENT = "cache_increment.active_support"

      # Events for subscribers: the same as those of Rails' `instrument`, from
      # the same notifier, without the detours on the way to it.
      #
      # @private
      module Observation
        NOBODY = {}.freeze
        # Whether payloads of events are those of Rails 8.2: the store comes before the key, and `fetch_hit` has the key
        # in place of the name.
        RAILS_8_2 = (ActiveSupport.gem_version.segments.first(2) <=> [8, 2]) >= 0
        private_constant :NOBODY

        private

        # Who subscribes to an event at this moment, by the way they are called. Most often nobody, so the cheaper
        # question comes first.
        #
        # @return [Hash{Class => Array}]
        def observers_of(event)
          notifier = ActiveSupport::Notifications.notifier
          notifier.all_listeners_for(event).empty? ? NOBODY : notifier.groups_for(event)
        end

        def observed?(event) = !observers_of(event).empty?

        def observed_read(name, key, version, observers)
          value = observe_read(name, key, @options, observers) do |payload|
            value = @settings.accessor.read(key, version, payload)
            value = settle(value, key, version) if Coder::Signal === value
            payload[:hit] = !value.equal?(Accessor::MISS)
            tell_no_tier(payload)
            value
          end
          value unless value.equal?(Accessor::MISS)
        end

        # The value; or what was found that is none, and is settled.
        def observed_fetch(name, key, version, options, observers)
          observe_read(name, key, merged_options(options), observers) do |payload|
            found = value = @settings.accessor.read(key, version, payload)
            value = settle_for_fetch(found, key, version, options) if Coder::Signal === found
            payload[:super_operation] = :fetch
            payload[:hit] = !value.equal?(Accessor::MISS)
            tell_no_tier(payload)
            value.equal?(Accessor::MISS) ? found : value
          end
        end

        # As `ActiveSupport::Notifications::Instrumenter#instrument` does it, for
        # the usual case: all subscribers are called in one way.
        def observe_read(name, key, options, observers)
          key = normalize_key(name, options) unless name.instance_of?(String) && key.encoding == Encoding::UTF_8
          return instrument(:read, key, options) { |payload| yield payload } unless observers.size == 1
          store = self.class.name
          payload = (RAILS_8_2 ? { store:, key: } : { key:, store: }).merge!(options)
          id = ActiveSupport::Notifications.instrumenter.id
          kind, listeners = observers.first
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
