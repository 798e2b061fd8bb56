# frozen_string_literal: true

module Tiercel
  module Store
    # A frame on its way from Rails' machinery to the accessor.
    #
    # Not a String: what Rails finds to be one it takes for a payload in a format of its own.
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
