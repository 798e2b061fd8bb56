# frozen_string_literal: true

module Tiercel
  class Tiers < Backend
    class Journal
      # The notes of one process, in memory. It has the methods of a {LockedFile}, and those of the File that a
      # LockedFile yields.
      #
      # @private
      class MemoryFile
        def initialize
          @bytes = String.new
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
  end
end
