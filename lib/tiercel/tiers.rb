# frozen_string_literal: true

module Tiercel
  # Two backends as one: the near tier keeps copies, the last tier has every entry. The store, `fetch`, the leases and
  # the guard use this backend like any other.
  #
  # - {StackAccessor} reads the near tier, then the last tier. A value from the last tier becomes a near copy.
  # - A change goes to the last tier. Until it ends, no process of the machine makes copies of its keys ({Near#change}).
  # - The last tier alone has counters, raw bytes, leases and tokens.
  # - The guard lists the keys of changes that the last tier did not receive ({Undelivered}). While a key is in this
  #   list, the change is pending: no call of this process reads the key from the last tier.
  #
  # The near tier has its own guard, which reports its failures; the call then goes to the last tier. A call raises
  # errors of the last tier only. docs/tiers.md lists the guarantees.
  class Tiers < Backend
    autoload :Bus, "tiercel/tiers/bus"
    autoload :Copy, "tiercel/tiers/near"
    autoload :Coverage, "tiercel/tiers/coverage"
    autoload :Near, "tiercel/tiers/near"
    autoload :StackAccessor, "tiercel/tiers/stack_accessor"
    autoload :StackLeases, "tiercel/tiers/stack_leases"
    autoload :Uses, "tiercel/tiers/near"
    autoload :Watch, "tiercel/tiers/watch"

    # @return [Near]
    attr_reader :near
    # @return [Backend] the last tier
    attr_reader :last

    # @param near [Near]
    # @param last [Backend]
    def initialize(near, last)
      super()
      @near = near
      @last = last
      @near.uses = Uses.new(near.backend.segment, last) unless last.remote? # the bus reports uses to a server
    end

    # --- read ---

    # These calls return the last tier's bytes; the bytes of a near copy may differ ({Copy}).
    def get(key) = @near.filled(key) { get_last(key) }
    def get_multi(keys) = @near.filled_multi(keys) { get_multi_last(keys) }

    # @private
    # @return [String, nil] the last tier's bytes; makes no copy
    # @raise [PendingChange]
    def get_last(key) = unless_pending(key) { @last.get(key) }

    # @private
    # @return [Hash{String => String}] as {#get_last}
    # @raise [PendingChange] with the entries that were found, if any key is pending
    def get_multi_last(keys) = without_pending(keys) { |rest| @last.get_multi(rest) }

    def get_with_token(key) = unless_pending(key) { @last.get_with_token(key) }
    def get_multi_with_tokens(keys) = without_pending(keys) { |rest| @last.get_multi_with_tokens(rest) }
    def look(key) = unless_pending(key) { @last.look(key) }
    def scan(prefix = nil, &) = @last.scan(prefix, &)

    # --- change ---

    def set(key, bytes, ttl = nil) = @near.change([key], bytes, ttl) { @last.set(key, bytes, ttl) }
    def set_multi(pairs, ttl = nil) = @near.change(pairs.keys) { @last.set_multi(pairs, ttl) }
    def add(key, bytes, ttl = nil) = @near.change([key], bytes, ttl) { @last.add(key, bytes, ttl) }
    def add_or_get(key, bytes, ttl = nil) = @near.change([key], bytes, ttl) { @last.add_or_get(key, bytes, ttl) }

    # A value computed before a pending change is older than the change, so it is not stored.
    def compare_and_set(key, bytes, token, ttl = nil)
      @near.change([key], bytes, ttl) { unless_pending(key) { @last.compare_and_set(key, bytes, token, ttl) } }
    end

    def compare_and_set_multi(changes, ttl = nil)
      @near.change(changes.keys) { without_pending(changes) { |rest| @last.compare_and_set_multi(rest, ttl) } }
    end

    # A placeholder changes no value, so the near copies stay, and so does a lease in the near tier's table.
    def occupy(key, bytes, ttl = nil, token = nil) = unless_pending(key) { @last.occupy(key, bytes, ttl, token) }

    def occupy_multi(pairs, ttl = nil, tokens = {})
      without_pending(pairs) { |rest| @last.occupy_multi(rest, ttl, tokens) }
    end

    def delete(key) = @near.change([key]) { @last.delete(key) }
    def delete_multi(keys) = @near.change(keys) { @last.delete_multi(keys) }
    def increment(key, amount = 1, ttl = nil) = @near.change([key]) { @last.increment(key, amount, ttl) }
    def touch(key, ttl) = @near.change([key]) { @last.touch(key, ttl) }

    def clear(prefix = nil)
      @near.clear(prefix) { @last.clear(prefix) }
      nil
    end

    # Repeats deletes that the last tier did not confirm ({Undelivered}). Also deletes copies that were made since.
    #
    # @return [Hash{String => BackendError}] as {Backend#delete_frames}
    def delete_frames(keys)
      failed = @last.delete_frames(keys)
      @near.forget(keys - failed.keys)
      failed
    end

    # @private
    # @see Backend::StoreParts#prefix=
    def prefix=(prefix)
      @near.prefix = prefix
      @last.prefix = prefix
    end

    # @private
    # @see Backend::StoreParts#build_accessor
    def build_accessor(guard, coder, **options) = StackAccessor.new(self, guard, coder, **options)

    # @param guard [Guard]
    # @return [Leases] leases of the last tier, or of the near tier's table while the last tier does not answer
    def build_leases(guard) = StackLeases.new(self, guard)

    # --- the rest ---

    def cleanup = @last.cleanup
    def end_leases = @last.end_leases

    # @return [Hash{Symbol => Object}] the last tier's figures; under :tiers the figures of both tiers by name
    def stats
      stats = @last.stats
      { **stats, tiers: { @near.to_s => @near.stats, @last.to_s => stats } }
    end

    # @return [Hash{Symbol => Object}] :tiers alone; the last tier's figures are nil
    def stats_while_away = { tiers: { @near.to_s => @near.stats, @last.to_s => nil } }

    def listen = @near.listen

    def close
      @near.close
      @last.close
    end

    # @private
    # @see Backend::StoreParts#build_guard
    def build_guard(**options)
      @near.guard = @near.backend.build_guard(**options)
      Guard.new(self, **options).tap { |guard| @undelivered = guard.undelivered }
    end

    def tiered? = true
    def tiers = [@near.backend, @last]
    def to_s = "#{@near} > #{@last}"
    def remote? = @last.remote?
    def scannable? = @last.scannable?
    def answers_elsewhere? = @last.answers_elsewhere?
    def checksum? = @last.checksum?
    def compress_threshold_bytes = @last.compress_threshold_bytes
    def local_cache? = false # the near tier does the same

    private

    # The caller took the stripe's epoch or began a change first. If the key enters the list later, that copy is void.
    #
    # @raise [PendingChange]
    def unless_pending(key)
      return yield unless @undelivered&.any? && @undelivered.pending([key]).any?
      raise PendingChange.new("not asked: a change of this key did not reach it yet", backend: @last.to_s, key:)
    end

    # @param all [Array<String>, Hash{String => Object}] keys, or Hash by key
    # @yieldparam rest [Array<String>, Hash{String => Object}] the argument without the pending keys
    # @yieldreturn [Hash, Array]
    # @raise [PendingChange] with the block's result, if any key is pending
    def without_pending(all)
      pending = @undelivered&.pending(all.is_a?(Hash) ? all.keys : all)
      return yield(all) if pending.nil? || pending.empty?
      rest = all.is_a?(Hash) ? all.except(*pending) : all - pending
      result = yield(rest) unless rest.empty?
      raise PendingChange.new("#{pending.size} of #{all.size} keys are not asked for: changes of them did not reach " \
                              "it yet", backend: @last.to_s).with_partial(result)
    end
  end
end
