# frozen_string_literal: true

require_relative "../accessor"

module Tiercel
  module Accessors
    # Through any backend, behind its guard: a frame is read and written whole.
    #
    # @private
    class Framed < Accessor
      def initialize(backend, guard, coder, frozen: false)
        super(coder, frozen: frozen)
        @backend = backend
        @guard = guard
      end

      def get(key, _event = nil)
        bytes = @guard.call(:read_entry, key) { @backend.get(key) }
        bytes.nil? ? @account&.missed(key) : @account&.hit(key)
        bytes
      end

      def token_of(bytes, index = 0) = @backend.token_shown(bytes, @backend.last_read, index)

      # @param keys [Array<String>] different ones
      def get_multi(keys, _event = nil) = counted(keys, get_uncounted(keys))

      # @param tags [Tags::Named] that are told their generations, which are read in the same trip
      # @return [String, nil] as {#get}
      def get_tagged(key, tags, event = nil) = get_multi_tagged([key], tags, event)[key]

      # @return [Hash{String => String}] as {#get_multi}, and more
      def get_multi_tagged(keys, tags, _event = nil)
        get_uncounted(keys | tags.keys).tap { |found| tags.know(counted(keys, found)) }
      end

      # Nothing is remembered here, so the block of {RequestLocal#generations} is not asked.
      #
      # @param keys [Array<String>] of generations
      # @return [Hash{String => String}]
      def far_generations(keys, &) = @guard.call(:read_tags, returning: {}) { @backend.get_multi(keys) }
      alias generations far_generations

      # @param keys [Array<String>] of generations
      # @return [true, nil]
      def invalidate(keys)
        @guard.call(:invalidate_tags) { @backend.delete_multi(keys) && true }
      end

      def set(key, bytes, ttl)
        stored = @guard.call(:write_entry, key) do
          @backend.set(key, bytes, ttl) || @guard.too_large(key, bytes.bytesize)
        end
        written(stored)
      end

      # @return [Boolean] whether all are stored
      def set_multi(frames, ttl)
        stored = @guard.call(:write_multi_entries) do
          @backend.set_multi(frames, ttl) || @guard.too_large(nil, frames.sum { |_, frame| frame.bytesize })
        end
        written(stored, frames.size)
      end

      # Writes where nothing is, or where what is there has ended: bytes may outlive their end.
      #
      # @yieldparam present [String] the bytes that are in the way
      # @yieldreturn [Boolean] whether they have ended
      # @return [Boolean, nil] whether it was written
      def add(key, bytes, ttl)
        stored = @guard.call(:write_entry, key) do
          present, token = answer = @backend.add_or_get(key, bytes, ttl)
          next true if answer == true
          next @backend.add(key, bytes, ttl) unless token
          yield(present) ? @backend.compare_and_set(key, bytes, token, ttl) : false
        end
        written(stored)
      end

      def delete(key)
        @account&.deleted(1)
        @guard.call(:delete_entry, key, returning: false) { @backend.delete(key) }
      end

      def delete_multi(keys)
        @account&.deleted(keys.size)
        @guard.call(:delete_multi_entries, returning: 0) { @backend.delete_multi(keys) }
      end

      # Changes a counter, in one step or in several.
      #
      # @param operation [Symbol] for the report
      # @yieldparam backend [Backend] that keeps the counters
      # @yieldreturn [Integer, nil] the new count
      # @return [Integer, nil]
      def count(operation, key)
        written(@guard.call(operation, key) { yield @backend })
      end

      # @param pattern [KeyPattern]
      # @return [Integer, nil] how many went
      def delete_matching(pattern) = @guard.call(:delete_matched) { delete_scanned(pattern) }

      def clear(prefix)
        @guard.call(:clear) { @backend.clear(prefix) }
      end

      def cleanup = @guard.call(:cleanup) { @backend.cleanup }

      # @param method [Symbol] for the report
      def stats(method = :stats) = @guard.call(method) { @backend.stats }

      private

      def get_uncounted(keys)
        @guard.call(:read_multi_entries, returning: {}) { @backend.get_multi(keys) }
      end

      def counted(keys, found)
        @account&.read_several(keys, found)
        found
      end

      def written(stored, count = 1)
        @account&.wrote(count) if stored
        stored
      end

      def delete_scanned(pattern)
        @backend.end_leases
        @backend.scan(pattern.prefix).lazy.select { |key| pattern.match?(key) }.each_slice(1_000)
                .sum { |keys| @backend.delete_multi(keys) }
      end
    end
  end
end
