# frozen_string_literal: true

module Tiercel
  class Account
    # Bytes in the memory of this process, with those methods of File that an account uses.
    #
    # @private
    class Medium
      def initialize(bytes)
        @bytes = "\0".b * bytes
      end

      def pread(length, offset) = @bytes.byteslice(offset, length)

      def pwrite(bytes, offset)
        @bytes.bytesplice(offset, bytes.bytesize, bytes)
      end
    end
  end
end
