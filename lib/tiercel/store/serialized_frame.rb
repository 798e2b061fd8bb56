# frozen_string_literal: true

module Tiercel
  module Store
    # A frame on its way between Rails' machinery and a backend.
    #
    # Not a String: Rails takes a serialized String for one of its own formats,
    # and its request-local cache keeps the object as it is.
    #
    # @private
    class SerializedFrame
      # @return [String] the frame
      attr_reader :bytes

      # @return [Float, nil] epoch seconds
      attr_reader :expires_at

      def initialize(bytes, expires_at)
        @bytes = bytes.freeze
        @expires_at = expires_at
        freeze
      end

      # @return [Integer]
      def bytesize = @bytes.bytesize
    end
  end
end
