# frozen_string_literal: true

module Tiercel
  # Bytes in the memory of this process, behind the methods of a locked File.
  #
  # @private
  class MemoryFile
    # @param bytes [String] its first content
    def initialize(bytes = String.new)
      @bytes = bytes
      @lock = Mutex.new
    end

    def size = @bytes.bytesize
    def filled? = size.positive?
    def open = yield(self)
    def locked(create: false) = @lock.synchronize { yield self } # rubocop:disable Lint/UnusedMethodArgument
    def truncate(size) = @bytes = @bytes.byteslice(0, size)
    def pread(count, at) = @bytes.byteslice(at, count) || ""

    def pwrite(bytes, at)
      @bytes << ("\0" * (at - size)) if at > size
      @bytes.bytesplice(at, [bytes.bytesize, size - at].min, bytes)
      bytes.bytesize
    end
  end
end
