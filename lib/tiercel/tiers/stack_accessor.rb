# frozen_string_literal: true

require_relative "../accessors/framed"
require_relative "../backend"
require_relative "../errors"
require_relative "journal"

module Tiercel
  class Tiers < Backend
    # Through {Tiers}. What the near tier has comes out of it as it does where the segment is all there is ({Native},
    # {Frozen}); the guard of this accessor, and its breaker, are the far tier's, so near copies are read while that
    # one does not answer. What it cannot be told then is deleted near.
    #
    # @private
    class StackAccessor < Accessors::Framed
      # Of what the last tier says that it has nothing.
      ABSENT = Object.new.freeze
      private_constant :ABSENT

      # @param stale_if_error [Float, nil] seconds for which copies answer after they are not trusted any more, while
      #   the last tier does not answer
      def initialize(backend, guard, coder, frozen: false, stale_if_error: nil)
        super(backend, guard, coder, frozen:)
        @near = backend.near.backend.build_accessor(backend.near.guard, coder, frozen:)
        @stale_if_error = stale_if_error || 0
        @numbers = backend.tiers.each_with_index.to_h { |tier, number| [tier.to_s, number] }
      end

      # Failures of near tiers are counted, too.
      def account=(account)
        super
        @backend.near.guard.account = account
      end

      # A copy that is no plain value (of another version, perhaps) is not taken for what is behind it.
      def read(key, version, event = nil)
        value = @near.read(key, version)
        return answered(event, @backend.near, value) unless Coder::Signal === value
        @account&.hits(0, -1) unless MISS.equal?(value)
        @account&.passed(0)
        @backend.forget([key]) unless MISS.equal?(value)
        bytes = get_past(key, event)
        bytes.nil? ? MISS : decode(bytes, version)
      end

      def read_multi(keys, versions, unsettled, event = nil)
        found = @near.read_multi(keys, versions, of_no_use = [])
        @backend.forget(of_no_use.each { |key| found.delete(key) }) unless of_no_use.empty?
        @account&.hits(0, -of_no_use.size) unless of_no_use.empty?
        return found if found.size == keys.size && event.nil?
        had(from = {}, found) { @backend.near }
        missing = keys.uniq.reject { |key| found.key?(key) }
        found = read_multi_past(keys, versions, unsettled, found, missing, from) unless missing.empty?
        tell_tiers(event, keys, from)
        found
      end

      def get(key, event = nil)
        bytes = @backend.near.get(key)
        bytes ? @account&.hits(0) : @account&.passed(0)
        bytes ? answered(event, @backend.near, bytes) : get_past(key, event)
      end

      # @param event [Hash, nil] is told under :tiers how many of the keys each tier had
      def get_multi(keys, event = nil)
        found = get_multi_from(keys, from = {})
        tally_all(keys, from)
        tell_tiers(event, keys, from)
        found
      end

      def get_tagged(key, tags, event = nil)
        found = get_multi_from([key] | tags.keys, from = {})
        tags.know(found)
        tally_all([key], from)
        event[:tier] = from[key] if event && from.key?(key)
        found[key]
      end

      def get_multi_tagged(keys, tags, event = nil)
        found = get_multi_from(keys | tags.keys, from = {})
        tally_all(keys, from)
        tell_tiers(event, keys, from)
        found.tap { tags.know(found) }
      end

      # Raw bytes have no copies.
      def get_raw(key, event = nil)
        bytes = @guard.call(:read_entry, key) { @backend.get_last(key) }
        bytes ? @account&.hit(key) : @account&.missed(key)
        bytes && answered(event, @backend.last, bytes)
      end

      def get_multi_raw(keys, event = nil)
        found = @guard.call(:read_multi_entries, returning: {}) { @backend.get_multi_last(keys) }
        had(from = {}, found) { @backend.last }
        tally(keys, from)
        tell_tiers(event, keys, from)
        found
      end

      def set(key, bytes, ttl)
        written(change(:write_entry, [key], key:, bytes:) { @backend.set(key, bytes, ttl) })
      end

      def set_multi(frames, ttl)
        stored = change(:write_multi_entries, frames.keys, bytes: frames) { @backend.set_multi(frames, ttl) }
        written(stored, frames.size)
      end

      def delete(key)
        @account&.deleted
        change(:delete_entry, [key], key:, failed: false) { @backend.delete(key) }
      end

      def delete_multi(keys)
        @account&.deleted(keys.size)
        change(:delete_multi_entries, keys, failed: 0) { @backend.delete_multi(keys) }
      end

      def invalidate(keys)
        change(:invalidate_tags, keys, kind: Journal::GENERATION) { @backend.delete_multi(keys) && true }
      end

      def clear(prefix) = sweep(:clear, prefix) { @backend.clear(prefix) }

      def delete_matching(pattern)
        count = sweep(:delete_matched, pattern.prefix) { delete_scanned(pattern) }
        @backend.forget_matching(pattern) unless count.nil? # the last tier may have evicted what has a copy still
        count
      end

      private

      def read_multi_past(keys, versions, unsettled, found, missing, from)
        @account&.passed(0, missing.size)
        wanted = versions && keys.zip(versions).to_h.values_at(*missing)
        between = had(from, @backend.get_multi_between(missing)) { @backend.far.near }
        bytes = get_multi_past(missing, between, from)
        tally(missing, from)
        found.merge!(settled(bytes, missing, wanted, unsettled)).slice(*keys)
      end

      def get_past(key, event)
        bytes = get_between(key, event) || get_far(key, event) || get_late(key, event)
        return bytes unless bytes.nil? || ABSENT.equal?(bytes)
        @account&.missed(key)
        nil
      end

      # Values that exist though the last tier does not answer: within `stale_if_error`, or computed during the outage.
      def get_late(key, event = nil)
        near = @backend.before_last
        bytes = near.get_late(key, @stale_if_error) or return
        answered_behind(event, near, bytes)
      end

      # The entries of the tiers between the first and the last one.
      def get_between(key, event)
        bytes = @backend.get_between(key) or return
        answered_behind(event, @backend.far.near, bytes)
      end

      def get_far(key, event)
        bytes = @guard.call(:read_entry, key) { @backend.get_far(key) || ABSENT }
        bytes.nil? || ABSENT.equal?(bytes) ? bytes : answered_behind(event, @backend.last, bytes)
      end

      # The notification of a read says which tier had it.
      def answered(event, tier, value)
        event[:tier] = tier.to_s if event
        value
      end

      # The same of a tier whose hits are not counted by its segment.
      def answered_behind(event, tier, value)
        @account&.hits(@numbers[tier.to_s])
        answered(event, tier, value)
      end

      # @param from [Hash{String => String}] which tier had each of the keys
      def tally(keys, from)
        keys.each { |key| from.key?(key) ? @account.hits(@numbers[from[key]]) : @account.missed(key) } if @account
      end

      # The same of those of which the near tier was asked for frames.
      def tally_all(keys, from)
        tally(keys, from)
        @account&.passed(0, keys.count { |key| from[key] != @backend.near.to_s })
      end

      # @param from [Hash{String => String}, nil] is told of each key which tier had it
      def get_multi_from(keys, from)
        found = had(from, @backend.near.get_multi(keys)) { @backend.near }
        return found if found.size == keys.size
        missing = keys.reject { |key| found.key?(key) }
        found.merge!(had(from, @backend.get_multi_between(missing)) { @backend.far.near })
        get_multi_past(keys, found, from)
      end

      def get_multi_past(keys, found, from = nil)
        return found if found.size == keys.size
        missing = keys.reject { |key| found.key?(key) }
        has_answered = false
        far = @guard.call(:read_multi_entries, returning: {}) do
          @backend.get_multi_far(missing).tap { has_answered = true }
        end
        found.merge!(had(from, far) { @backend.last })
        get_multi_late(missing, found, from) unless has_answered
        found.slice(*keys)
      end

      def get_multi_late(keys, found, from)
        near = @backend.before_last
        late = keys.reject { |key| found.key?(key) }.to_h { |key| [key, near.get_late(key, @stale_if_error)] }.compact
        found.merge!(had(from, late) { near })
      end

      # @yieldreturn [#to_s] the tier that had all of what was found
      def had(from, found)
        return found if from.nil? || found.empty?
        tier = yield.to_s
        found.each_key { |key| from[key] = tier }
        found
      end

      def tell_tiers(event, keys, from)
        event[:tiers] = from.slice(*keys).values.tally if event
      end

      # A change that the last tier did not receive is noted. A write that it refused becomes a delete at once: a full
      # server deletes.
      #
      # @param key [String, nil] for the report
      # @param bytes [String, Hash{String => String}, nil] that are to be stored
      # @param failed [Object] what the call is worth where the last tier has failed
      # @param kind [Integer] see {Journal#note}
      def change(method, keys, key: nil, bytes: nil, failed: nil, kind: Journal::FRAME)
        told = sent = false
        @guard.call(method, key, returning: failed) do
          sent = true
          done = yield
          told = true
          done || (bytes ? too_large(key, bytes) : done)
        rescue Refused => error
          told ||= error.forbidden || (bytes && deleted?(keys))
          raise
        rescue Unavailable => error
          sent = error.counts_for_breaker?
          raise
        end
      ensure
        @backend.unsettle(keys, kind, late: sent && bytes && @backend.remote?) unless told
      end

      def deleted?(keys)
        @backend.delete_multi(keys)
        true
      rescue BackendError
        false
      end

      # A clear or a `delete_matched` that the last tier did not receive is reported, and not repeated. The guard
      # reports a call that failed; this reports a call that the breaker skipped.
      #
      # @param prefix [String, nil] of the near copies that go in any case, leases too
      def sweep(method, prefix)
        sent = told = false
        @guard.call(method) do
          sent = true
          yield.tap { told = true }
        end
      ensure
        @backend.clear_copies(prefix) unless told
        skipped(method) unless sent
      end

      def skipped(method)
        @backend.near.guard.call(method) do
          raise Refused.new("#{method} did not reach it, and is not repeated: call it again",
                            backend: @backend.last.to_s)
        end
      end

      def too_large(key, bytes)
        @guard.too_large(key, key ? bytes.bytesize : bytes.each_value.sum(&:bytesize))
      end
    end
  end
end
