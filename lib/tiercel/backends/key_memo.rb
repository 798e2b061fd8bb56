# frozen_string_literal: true

module Tiercel
  module Backends
    # Remembers results computed from recently used keys. The number of entries is bounded, and long keys are not
    # remembered, which also bounds the memory.
    #
    # @private
    class KeyMemo
      ENTRIES = 8_192
      LONGEST_KEY_BYTES = 1_024

      # @yieldparam key [String]
      # @yieldreturn [Object] the result for the key, not nil
      def initialize(&compute)
        @compute = compute
        @known = {}
      end

      # @param key [String]
      # @return [Object]
      def [](key) = @known[key] || remember(key, @compute.call(key))

      # @return [Integer] number of remembered keys
      def size = @known.size

      private

      def remember(key, computed)
        return computed if key.bytesize > LONGEST_KEY_BYTES
        @known.clear if @known.size >= ENTRIES
        @known[key] = computed
      end
    end
  end
end
