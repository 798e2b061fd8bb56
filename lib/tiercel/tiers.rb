# frozen_string_literal: true

require_relative "backend"
require_relative "tiers/bus"
require_relative "tiers/near"
require_relative "tiers/settler"
require_relative "tiers/stack_accessor"
require_relative "tiers/stack_leases"
require_relative "tiers/uses"
require_relative "tiers/watch"

module Tiercel
  # Several backends as one: a near one that keeps copies, and a far one, perhaps itself of several tiers, where
  # everything is. What stands above a backend (the store, fetch and its leases, the guard) is the same for all of them.
  #
  # - A read ({StackAccessor}) asks the near tier, then the far one; what it brings back from there is filled
  #   into the near one.
  # - A change is made in the far tier; meanwhile, and if it ended in doubt for some seconds longer, nobody fills the
  #   keys that it is about ({Near#change}).
  # - Counters, raw bytes, leases and tokens are the far tier's alone.
  #
  # A failing near tier is reported by its own guard and gone around; only the far one's errors come out of a call.
  # docs/tiers.md says what can be relied upon.
  class Tiers < Backend
    # @return [Near]
    attr_reader :near
    # @return [Backend]
    attr_reader :far

    # @param near [Near]
    # @param far [Backend]
    # @param place [String] what the last tier is, however it is spelled
    def initialize(near, far, place = far.to_s)
      super()
      @near = near
      @near.uses = Uses.new(near.backend.segment, far) unless far.remote? # to which the bus passes them on
      @far = far
      @nested = far.is_a?(Tiers)
      @settler = near.settler = Settler.new(near, far, place) unless @nested
    end

    # @return [Backend] the last tier, which has everything
    def last = @nested ? @far.last : @far

    # --- read ---

    # Bytes are the last tier's, byte for byte; a near tier's may be of another form ({Copy}).
    def get(key) = get_far(key)
    def get_multi(keys) = get_multi_far(keys)

    # @private
    # @return [String, nil] what a tier before the last one has
    def get_near(key) = @near.get(key) || get_between(key)

    # @private
    # @return [String, nil] what a tier after the first and before the last one has
    def get_between(key) = @nested ? @near.filled(key) { @far.get_near(key) } : nil

    # @private
    # @return [String, nil] what the last tier has
    def get_far(key) = @near.filled(key) { @nested ? @far.get_far(key) : get_last(key) }

    # @private
    # @return [String, nil] what the last tier has, with no copy of it
    # @raise [Unsettled] if the key is
    def get_last(key) = @nested ? @far.get_last(key) : settled(key) { @far.get(key) }

    # @private
    # @return [Hash{String => String}] as {#get_last}, in one trip where the last tier allows
    # @raise [Unsettled] with what was found, if some of the keys are
    def get_multi_last(keys)
      return @far.get_multi_last(keys) if @nested
      settled_among(keys) { |settled| @far.get_multi(settled) }
    end

    # @private
    # @return [Hash{String => String}] as {#get_near}
    def get_multi_near(keys)
      found = @near.get_multi(keys)
      return found if !@nested || found.size == keys.size
      found.merge!(get_multi_between(keys.reject { |key| found.key?(key) }))
    end

    # @private
    # @return [Hash{String => String}] as {#get_between}
    def get_multi_between(keys) = @nested ? @near.filled_multi(keys) { @far.get_multi_near(keys) } : {}

    # @private
    # @return [Hash{String => String}] as {#get_far}, in one trip where the last tier allows
    def get_multi_far(keys)
      @near.filled_multi(keys) { @nested ? @far.get_multi_far(keys) : get_multi_last(keys) }
    end

    # Tokens are the far tier's, and so are the bytes that belong to them.
    def get_with_token(key) = settled(key) { @far.get_with_token(key) }
    def look(key) = settled(key) { @far.look(key) }
    def scan(prefix = nil, &) = @far.scan(prefix, &)

    # --- change ---

    def set(key, bytes, ttl = nil) = @near.change([key], bytes, ttl) { @far.set(key, bytes, ttl) }
    def set_multi(pairs, ttl = nil) = @near.change(pairs.keys) { @far.set_multi(pairs, ttl) }
    def add(key, bytes, ttl = nil) = @near.change([key], bytes, ttl) { @far.add(key, bytes, ttl) }
    def add_or_get(key, bytes, ttl = nil) = @near.change([key], bytes, ttl) { @far.add_or_get(key, bytes, ttl) }

    # A value computed before an unsettled change is older than that change.
    def compare_and_set(key, bytes, token, ttl = nil)
      @near.change([key], bytes, ttl) { settled(key) { @far.compare_and_set(key, bytes, token, ttl) } }
    end

    def compare_and_set_multi(changes, ttl = nil)
      @near.change(changes.keys) do
        settled_among(changes) { |settled| @far.compare_and_set_multi(settled, ttl) }
      end
    end

    # A placeholder is no other value than the one that reads see beside it: the copies may stay, and so does a lease
    # that somebody of this machine has near while the last tier does not answer.
    def occupy(key, bytes, ttl = nil, token = nil) = settled(key) { @far.occupy(key, bytes, ttl, token) }

    def occupy_multi(pairs, ttl = nil, tokens = {})
      settled_among(pairs) { |settled| @far.occupy_multi(settled, ttl, tokens) }
    end

    def delete(key) = @near.change([key]) { @far.delete(key) }
    def delete_multi(keys) = @near.change(keys) { @far.delete_multi(keys) }
    def increment(key, amount = 1, ttl = nil) = @near.change([key]) { @far.increment(key, amount, ttl) }
    def touch(key, ttl) = @near.change([key]) { @far.touch(key, ttl) }

    def clear(prefix = nil)
      @near.clear(prefix) { @far.clear(prefix) }
      nil
    end

    # Deletes near copies where the far tier was not asked to.
    #
    # @private
    # @param keys [Array<String>]
    # @return [void]
    def forget(keys)
      @far.forget(keys) if @nested # first: nothing goes from there to the near tier afterwards
      @near.forget(keys)
    end

    # Notes a change that the last tier did not receive, or perhaps did not, and deletes the near copies. The note comes
    # first: a reader who takes a stripe's epoch after the copies went finds it ({#settled}).
    #
    # @private
    # @param keys [Array<String>]
    # @param kind [Integer] see {Journal#note}
    # @param late [Boolean] whether the change may still arrive
    # @return [void]
    def unsettle(keys, kind = Journal::FRAME, late: false)
      @nested ? @far.unsettle(keys, kind, late:) : @settler.note(keys, kind, late:)
    ensure
      @near.forget(keys)
    end

    # Deletes near copies where the last tier did not receive a `clear`, or a `delete_matched`.
    #
    # @private
    # @param prefix [String, nil]
    # @return [void]
    def clear_copies(prefix)
      @far.clear_copies(prefix) if @nested
      @near.clear(prefix)
    end

    # @private
    # @return [Boolean] whether there are changes that the last tier has not received
    def pending? = @nested ? @far.pending? : @settler.pending?

    # @private
    # @return [Settler]
    def settler = @nested ? @far.settler : @settler

    # @private
    # @param pattern [KeyPattern] whose copies go
    # @return [void]
    def forget_matching(pattern)
      @far.forget_matching(pattern) if @nested
      @near.forget_matching(pattern)
    end

    # @private
    # @see Backend::StoreParts#prefix=
    def prefix=(prefix)
      @near.prefix = prefix
      @far.prefix = prefix
    end

    # @private
    # @see Backend::StoreParts#build_accessor
    def build_accessor(guard, coder, **options)
      StackAccessor.new(self, guard, coder, **options)
    end

    # Leases are the last tier's; while that does not answer, the nearest table's that the most processes share.
    #
    # @param guard [Guard]
    # @return [Leases]
    def build_leases(guard)
      StackLeases.new(self, guard)
    end

    # @private
    # @return [Near] in front of the last tier
    def before_last = @nested ? @far.before_last : @near

    # --- the rest ---

    def uses_wanted? = @far.uses_wanted?
    def used(keys) = @far.used(keys)
    def cleanup = @far.cleanup
    def end_leases = @far.end_leases

    # @return [Hash{Symbol => Object}] of the last tier, where all entries are; under :tiers the figures of each tier by
    #   its name, nearest first
    def stats
      of_far = @far.stats
      { **of_far, tiers: { @near.to_s => @near.stats, **(of_far[:tiers] || { @far.to_s => of_far }) } }
    end

    # @return [Hash{Symbol => Object}] :tiers alone, with nil in the place of the last one's figures
    def stats_while_away
      { tiers: { @near.to_s => @near.stats, **(@far.stats_while_away&.fetch(:tiers) || { @far.to_s => nil }) } }
    end

    # A near tier over the last one has its bus, as all others have.
    def listen = @near.listen

    def close
      @settler&.close
      @near.close
      @far.close
    end

    # The guard is the last tier's; each near tier gets one of its own.
    #
    # @private
    # @see Backend::StoreParts#build_guard
    def build_guard(**options)
      guard_near(**options)
      Guard.new(self, **options)
    end

    # @private
    # @return [void]
    def guard_near(**options)
      @near.guard = @near.backend.build_guard(**options)
      @far.guard_near(**options) if @nested
    end

    # Beside the first tier that has a place for it. Several stacks over one segment have an account each.
    #
    # @private
    # @see Backend::StoreParts#account_path
    def account_path
      path = @near.backend.account_path || @far.account_path
      path && "#{path}-#{format("%08x", Zlib.crc32(to_s))}"
    end

    def tiered? = true
    def tiers = [@near.backend, *@far.tiers]
    def to_s = "#{@near} > #{@far}"
    def remote? = @far.remote?
    def compares?(ask: true) = @far.compares?(ask:)
    def scannable? = @far.scannable?
    def answers_elsewhere? = @far.answers_elsewhere?
    def checksum? = @far.checksum?
    def compress_threshold_bytes = @far.compress_threshold_bytes

    # The near tier is what a request-local cache would be in front of the far one.
    def local_cache? = false

    private

    # Called after the near tier has given the epoch of a stripe, or has begun a change: a change that is noted later
    # raises that epoch.
    #
    # @raise [Unsettled] if the key is
    def settled(key)
      return yield if @nested || !@settler.pending? || @settler.unsettled([key]).empty?
      raise Unsettled.new("not asked: a change of this key did not reach it yet", backend: @far.to_s, key:)
    end

    # @param all [Array<String>, Hash{String => Object}] keys, or Hash by key
    # @yieldparam settled [Array<String>, Hash{String => Object}] those that are settled
    # @yieldreturn [Hash, Array] what was found or done
    # @raise [Unsettled] with that, if some of the keys are
    def settled_among(all)
      return yield(all) if @nested || !@settler.pending?
      unsettled = @settler.unsettled(all.is_a?(Hash) ? all.keys : all)
      return yield(all) if unsettled.empty?
      rest = all.is_a?(Hash) ? all.except(*unsettled) : all - unsettled
      result = yield(rest) unless rest.empty?
      raise Unsettled.new("#{unsettled.size} of #{all.size} keys are not asked for: changes of them did not reach " \
                          "it yet", backend: @far.to_s).with_partial(result)
    end
  end
end
