# frozen_string_literal: true

require_relative "../frame"
require_relative "../leases/placeholder"

module Tiercel
  module Store
    # `read(name, delete: true)`: reads a value and deletes it in one step, so that only one of several callers receives
    # it.
    #
    # No backend but Redis has a command for this. So each caller tries to replace the unchanged value by an expired
    # frame. The caller that succeeds returns the value and then deletes the frame.
    #
    # @private
    module ReadOnce
      # Maximum number of attempts. An attempt fails if another caller has changed the value.
      MAX_ATTEMPTS = 10
      private_constant :MAX_ATTEMPTS

      private

      # @param key [String]
      # @return [String, nil] the entry's bytes; nil if the key is absent, or if another caller has received them
      def read_and_delete(key)
        bytes = @settings.guard.call(:read_entry, key) { replace_with_expired(@settings.backend, key) }
        delete_entry(key) if bytes
        @settings.backend.forget_last_read
        bytes
      end

      def replace_with_expired(backend, key)
        MAX_ATTEMPTS.times do
          bytes, token = backend.get_with_token(key)
          return if bytes.nil? || Leases::Placeholder.placeholder?(bytes)
          return bytes if backend.compare_and_set(key, Frame::EXPIRED, token, Backend::EXPIRED_TTL)
        end
        nil
      end
    end
  end
end
