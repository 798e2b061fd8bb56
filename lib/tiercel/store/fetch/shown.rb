# frozen_string_literal: true

module Tiercel
  module Store
    module Fetch
      # What the read of Rails' own `fetch` has found that was no value, kept with the fiber until its miss. A read of
      # another key or store in between is not taken for it.
      #
      # @private
      class Shown
        CURRENT = :tiercel_shown
        private_constant :CURRENT

        # @return [String] what was under the key
        attr_reader :bytes
        # @return [ActiveSupport::Cache::Entry, nil] decoded from it
        attr_reader :entry
        class << self
          # @return [Object] the block's value, which is a `fetch`
          def within
            before = Thread.current[CURRENT]
            Thread.current[CURRENT] = new
            yield
          ensure
            Thread.current[CURRENT] = before
          end

          # @return [Shown, nil] of the `fetch` at hand
          def current = Thread.current[CURRENT]
        end

        # @param store [ActiveSupport::Cache::TiercelStore] that has read
        # @param key [String]
        # @param bytes [String, nil]
        # @param entry [ActiveSupport::Cache::Entry, nil]
        # @param last_read [Object, nil] see {Backend#last_read}
        # @return [void]
        def note(store, key, bytes, entry, last_read)
          @store = store
          @key = key
          @bytes = bytes
          @entry = entry
          @last_read = last_read
        end

        # @return [Object, nil] for {Backend#occupy}
        def token = @store.backend.token_shown(@bytes, @last_read)

        # @return [Boolean] whether it is of that store and key, and there was something
        def of?(store, key) = !@bytes.nil? && @key == key && store.equal?(@store)
      end
    end
  end
end
