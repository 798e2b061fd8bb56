# frozen_string_literal: true

module Tiercel
  module Store
    # Wraps a frame while Rails' methods pass it to the accessor.
    #
    # It is not a String, because Rails would treat a String as a payload in its own format.
    #
    # @private
    class SerializedFrame
      # @return [String] the frame
      attr_reader :bytes

      # @param bytes [String]
      def initialize(bytes)
        @bytes = bytes.freeze
        freeze
      end

      # @return [Integer]
      def bytesize = @bytes.bytesize
    end
  end
end
