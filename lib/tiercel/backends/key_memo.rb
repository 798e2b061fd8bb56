# frozen_string_literal: true

module Tiercel
  module Backends
    # Remembers results that are computed from keys in use. Bounded in
    # entries and, as long keys are not remembered, in bytes.
    #
    # @private
    class KeyMemo
      ENTRIES = 8_192
      LONGEST_KEY_BYTES = 1_024

      # @yieldparam key [String]
      # @yieldreturn [Object] what is remembered of it, not nil
      def initialize(&compute)
        @compute = compute
        @known = {}
      end

      # @param key [String]
      # @return [Object]
      def [](key) = @known[key] || remember(key, @compute.call(key))

      # @return [Integer] how many keys are remembered
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
