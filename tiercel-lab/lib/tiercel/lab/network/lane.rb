# frozen_string_literal: true

module Tiercel
  module Lab
    module Network
      # One direction of a connection: bytes, each with the time at which it sends them.
      class Lane
        # Maximum number of bytes of one read, and of one write with a rate limit.
        CHUNK_BYTES = 65_536
        CAPPED_CHUNK_BYTES = 4_096
        # With more waiting bytes it stops reading, so that the sender notices the congestion.
        FULL_BYTES = 4 * 1024 * 1024

        # @return [IO]
        attr_reader :source, :sink
        # @return [Integer] bytes sent to the sink so far
        attr_reader :sent_bytes

        # @param source [IO]
        # @param sink [IO]
        def initialize(source, sink)
          @source = source
          @sink = sink
          @waiting = []
          @waiting_bytes = 0
          @free_at = 0.0
          @sent_bytes = 0
          @ended = false
        end

        # @return [Boolean] whether to read from the source
        def reading? = !@ended && @waiting_bytes < FULL_BYTES

        # @return [Boolean] whether the source has ended and everything is sent
        def over? = @ended && @waiting.empty?

        # @return [Boolean] whether bytes wait to be sent
        def waiting? = !@waiting.empty?

        # @return [Boolean] whether bytes are due
        def due?(now) = !@waiting.empty? && @waiting.first.first <= now

        # @return [Float, nil] when the next bytes are due
        def due_at = @waiting.first&.first

        # Reads from the source, and computes when the bytes are due.
        #
        # @param now [Float] seconds of the monotonic clock
        # @param delay [Float] seconds
        # @param bytes_per_second [Numeric, nil]
        # @yieldparam bytes [String] the bytes read
        # @return [Integer] bytes taken
        def take(now, delay, bytes_per_second)
          bytes = @source.read_nonblock(CHUNK_BYTES, exception: false)
          return ended if bytes.nil?
          return 0 if bytes.is_a?(Symbol)
          yield bytes if block_given?
          size = bytes_per_second ? CAPPED_CHUNK_BYTES : bytes.bytesize
          0.step(bytes.bytesize - 1, size) { |at| enqueue(bytes.byteslice(at, size), now + delay, bytes_per_second) }
          bytes.bytesize
        rescue SystemCallError, IOError
          ended
        end

        # Drops waiting bytes and stops reading, because the receiver is gone.
        #
        # @return [void]
        def abandon
          @ended = true
          @waiting.clear
          @waiting_bytes = 0
        end

        # Sends the bytes that are due.
        #
        # @param now [Float]
        # @param limit [Integer, nil] most bytes
        # @yieldparam bytes [String] the next bytes
        # @yieldreturn [String] bytes to send in their place, of the same length
        # @return [void]
        # @raise [SystemCallError, IOError] if the sink is gone
        def give(now, limit = nil)
          while due?(now) && limit != 0
            due_at, bytes = @waiting.first
            bytes = bytes.byteslice(0, limit) if limit
            sent = @sink.write_nonblock(block_given? ? yield(bytes) : bytes, exception: false)
            return if sent.is_a?(Symbol)
            limit -= sent if limit
            sent(due_at, sent)
          end
        end

        private

        # @return [Integer] bytes taken
        def ended
          @ended = true
          0
        end

        def enqueue(bytes, due_at, bytes_per_second)
          if bytes_per_second
            due_at = [due_at, @free_at].max + (bytes.bytesize.to_f / bytes_per_second)
            @free_at = due_at
          end
          @waiting << [due_at, bytes]
          @waiting_bytes += bytes.bytesize
        end

        def sent(due_at, count)
          @sent_bytes += count
          @waiting_bytes -= count
          bytes = @waiting.shift.last
          @waiting.unshift([due_at, bytes.byteslice(count..)]) if count < bytes.bytesize
        end
      end
    end
  end
end
