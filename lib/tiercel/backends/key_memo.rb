# frozen_string_literal: true

module Tiercel
  module Backends
    # Remembers results computed from recently used keys. The number of entries is bounded, and long keys are not
    # remembered, which also bounds the memory.
    #
    # @private
    class KeyMemo < Hash
      ENTRIES = 8_192
      LONGEST_KEY_BYTES = 1_024

      # @yieldparam key [String]
      # @yieldreturn [Object] the result for the key
      def initialize
        super() { |_, key| remember(key, yield(key)) }
      end

      private

      def remember(key, computed)
        return computed if key.bytesize > LONGEST_KEY_BYTES
        clear if size >= ENTRIES
        self[key] = computed
      end
    end
  end
end
