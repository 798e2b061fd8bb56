# frozen_string_literal: true

module Tiercel
  class Tiers < Backend
    # Reads and writes through {Tiers}. The accessor of the near tier ({Accessor::Native}, {Accessor::Frozen}) reads
    # near copies, so an open breaker of the last tier does not stop these reads. A change that the last tier did not
    # receive goes to the guard's list ({Undelivered}).
    #
    # @private
    class StackAccessor < Accessor
      # Marks the answer of a last tier that has no entry, in contrast to a failure.
      ABSENT = Object.new.freeze
      # Positions in {Tiers#tiers}.
      NEAR, LAST = 0, 1
      private_constant :ABSENT, :NEAR, :LAST

      # @param stale_if_error [Float, nil] seconds for which reads still use untrusted copies while the last tier does
      #   not answer
      def initialize(backend, guard, coder, frozen: false, stale_if_error: nil)
        super(backend, guard, coder, frozen:)
        @tier = backend.near
        @near = @tier.backend.build_accessor(@tier.guard, coder, frozen:)
        @stale_if_error = stale_if_error || 0
        @names = backend.tiers.map(&:to_s)
      end

      # The near tier compares the tags of its copies. {#generations} compares those of the last tier's entries.
      def compares_tags? = true

      # Deletes a copy that is not a plain value, such as a copy of another version. The last tier then answers.
      def read(key, version, event = nil)
        value = @near.read(key, version)
        return answer(value, NEAR, event) unless Coder::Signal === value
        @tier.forget([key]) unless MISS.equal?(value)
        bytes = get_past(key, event)
        bytes.nil? ? MISS : decode(key, bytes, version)
      end

      def read_multi(keys, versions, undecided, event = nil)
        found = @near.read_multi(keys, versions, useless = [])
        @tier.forget(useless.each { |key| found.delete(key) }) unless useless.empty?
        near = found.size
        unless near == keys.size
          missing = keys.uniq - found.keys
          late, last = get_multi_past(missing)
          near += late.size
          wanted = versions && keys.zip(versions).to_h.values_at(*missing)
          found.merge!(decode_all(last.merge!(late).slice(*missing), missing, wanted, undecided))
        end
        note_tiers(event, near, found.size - near)
        near == keys.size ? found : found.slice(*keys)
      end

      def get(key, event = nil)
        bytes = @tier.get(key)
        return answer(bytes, NEAR, event) if bytes
        get_past(key, event)
      end

      def get_multi(keys, event = nil)
        near = @tier.get_multi(keys)
        late, last = get_multi_past(keys - near.keys)
        note_tiers(event, near.merge!(late).size, last.size)
        near.size == keys.size ? near : near.merge!(last).slice(*keys)
      end

      # Reads generations from near copies, then from the last tier. An invalidation on this machine deletes the copies
      # first. An invalidation on another machine arrives as a message, as for any key. A value written with an outdated
      # generation is a miss later.
      #
      # @yieldreturn [Boolean] whether a copy may be used
      def far_generations(keys, &usable)
        near = @tier.get_multi(keys)
        near = near.select(&usable) if usable
        near.size == keys.size ? near : near.merge(super(keys - near.keys))
      end
      alias generations far_generations

      # Raw bytes have no copies, so the last tier answers.
      def get_raw(key, event = nil)
        bytes = @guard.call(:read_entry, key) { @backend.get_last(key) }
        bytes && answer(bytes, LAST, event)
      end

      def get_multi_raw(keys, event = nil)
        found = @guard.call(:read_multi_entries, returning: {}) { @backend.get_multi_last(keys) }
        note_tiers(event, 0, found.size)
        found
      end

      def set(key, bytes, ttl)
        change(:write_entry, [key], key:, bytes:) { @backend.set(key, bytes, ttl) }
      end

      def set_multi(frames, ttl)
        change(:write_multi_entries, frames.keys, bytes: frames) { @backend.set_multi(frames, ttl) }
      end

      def delete(key)
        change(:delete_entry, [key], key:, failed: false) { @backend.delete(key) }
      end

      def delete_multi(keys)
        change(:delete_multi_entries, keys, failed: 0) { @backend.delete_multi(keys) }
      end

      def invalidate(keys)
        change(:invalidate_tags, keys) { @backend.delete_multi(keys) && true }
      end

      def clear(prefix) = sweep(:clear, prefix) { @backend.clear(prefix) }

      def delete_matching(pattern)
        count = sweep(:delete_matched, pattern.prefix) { delete_scanned(pattern) }
        @tier.forget_matching(pattern) unless count.nil? # the last tier may have evicted an entry whose copy exists
        count
      end

      private

      # @return [Object] the value; writes the name of its tier into the event
      def answer(value, number, event)
        event[:tier] = @names[number] if event
        value
      end

      # Reads the last tier after a near miss. If the last tier does not answer, returns a copy within `stale_if_error`,
      # or a value that this machine computed during the outage.
      def get_past(key, event)
        bytes = @guard.call(:read_entry, key) { @backend.get(key) || ABSENT }
        late = @tier.get_late(key, @stale_if_error) if bytes.nil?
        return answer(late, NEAR, event) if late
        answer(bytes, LAST, event) unless bytes.nil? || ABSENT.equal?(bytes)
      end

      # @return [Array(Hash, Hash)] as {#get_past}: the copies, and the last tier's entries
      def get_multi_past(keys)
        return [{}, {}] if keys.empty?
        answered = false
        found = @guard.call(:read_multi_entries, returning: {}) { @backend.get_multi(keys).tap { answered = true } }
        return [{}, found] if answered
        [(keys - found.keys).to_h { |key| [key, @tier.get_late(key, @stale_if_error)] }.compact, found]
      end

      # Writes into the event how many of the found keys came from each tier.
      def note_tiers(event, near, last)
        event[:tiers] = @names.zip([near, last]).to_h.reject { |_, count| count.zero? } if event
      end

      # Runs a change and records it if the last tier did not receive it. The guard repeats a lost delete once the
      # server answers. A lost write is repeated as a delete: its value may be outdated by then, or the write may still
      # arrive. A full server refuses writes and accepts deletes, so a refused write becomes a delete at once.
      #
      # Order matters: first the list records the key, then the copy is deleted. A reader that takes the stripe's epoch
      # after the deletion then finds the key in the list.
      #
      # @param key [String, nil] the key, for error reports
      # @param bytes [String, Hash{String => String}, nil] bytes of a write
      # @param failed [Object] the result if the last tier fails
      def change(method, keys, key: nil, bytes: nil, failed: nil)
        delivered = late = nil
        @guard.call(method, key, returning: failed, keys:) do
          late = :interrupted
          done = yield
          delivered = true
          done || (bytes ? too_large(key, bytes) : done)
        rescue Refused => error
          delivered ||= error.forbidden || (bytes && deleted?(keys))
          raise
        rescue Unavailable => error
          late = (:unanswered if error.counts_for_breaker?)
          raise
        end
      ensure
        unless delivered
          @guard.undelivered&.note(keys, late:) if bytes
          @tier.forget(keys)
        end
      end

      def deleted?(keys)
        @backend.delete_multi(keys)
        true
      rescue BackendError
        false
      end

      # A failed `clear` or `delete_matched` is not repeated. The guard reports a failed call; this method reports a
      # call that the open breaker skipped.
      #
      # @param prefix [String, nil] prefix of the copies and leases that are deleted even after a failure
      def sweep(method, prefix)
        sent = delivered = false
        @guard.call(method) do
          sent = true
          yield.tap { delivered = true }
        end
      ensure
        @tier.clear(prefix) unless delivered
        report_skipped(method) unless sent
      end

      def report_skipped(method)
        @tier.guard.call(method) do
          raise Refused.new("#{method} did not reach it, and is not repeated: call it again", backend: @names[LAST])
        end
      end

      def too_large(key, bytes)
        @guard.too_large(key, key ? bytes.bytesize : bytes.each_value.sum(&:bytesize))
      end
    end
  end
end
