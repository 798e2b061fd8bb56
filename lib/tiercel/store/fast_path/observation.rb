# frozen_string_literal: true

module Tiercel
  module Store
    module FastPath
      # Events for subscribers: the same as those of Rails' `instrument`, from
      # the same notifier, without the detours on the way to it.
      #
      # @private
      module Observation
        private

        def observed?(event) = ActiveSupport::Notifications.notifier.listening?(event)

        # As `ActiveSupport::Notifications::Instrumenter#instrument` does it.
        def observe_read(name, key, options)
          key = normalize_key(name, options) unless name.instance_of?(String) && key.encoding == Encoding::UTF_8
          payload = { key: key, store: self.class.name }.merge!(options)
          handle = ActiveSupport::Notifications.instrumenter.build_handle("cache_read.active_support", payload)
          handle.start
          begin
            yield payload
          rescue Exception => error # rubocop:disable Lint/RescueException
            payload[:exception] = [error.class.name, error.message]
            payload[:exception_object] = error
            raise
          ensure
            handle.finish
          end
        end
      end
    end
  end
end
