# frozen_string_literal: true

require_relative "../backend"
require_relative "../leases"
require_relative "../leases/segment"
require_relative "copy"

module Tiercel
  class Tiers < Backend
    # Leases over {Tiers}: placeholders in the last tier, for all machines; while that does not answer, those of the
    # table in the near segment, so that one caller of this machine computes a value and not each of them.
    #
    # A lease that was taken near may have been taken in the last tier too, in a call that got no answer. A fill goes
    # there if it can; else it leaves a copy near, which lives as long as any other.
    #
    # @private
    class StackLeases < Leases
      # One of the near table, and what became of the try to take it in the last tier.
      class NearLease < Leases::Lease
        # @return [Lease]
        attr_accessor :far
        # @return [Integer, nil] before its block begins: see {Tiers::Near#now}
        attr_accessor :met_at
      end

      # The table of the near tier.
      class Near < Leases::Segment
        # @param near [Tiers::Near]
        def initialize(near)
          super(near.backend.segment, near.guard)
          @near = near
        end

        # A copy that is not trusted is as good as none, unless it was computed meanwhile.
        def take(key, ttl, **)
          super do |bytes|
            verdict = yield bytes
            verdict unless verdict == :current && !@near.trusted? && !@near.computed_lately?(bytes)
          end
        end

        # As a copy of what cannot be stored behind. None while somebody changes the key there, or has died doing so:
        # who begins after this look ends the lease.
        def fill(lease, bytes, ttl)
          copy, ttl = @near.copy(lease.key, bytes, ttl, lease.met_at)
          free = copy && @guard.call(:write_entry, lease.key) { @segment.near_epoch(lease.key, true) }
          free ? super(lease, copy, ttl) : false
        end

        private

        def own(key, ttl, version)
          name = Lease.new_name
          NearLease.own(key, ttl, version, name, name).tap { |lease| lease.met_at = @near.now }
        end

        # Whether copies are trusted or not: those who wait are to be given what was computed.
        def look(key) = @guard.call(:read_entry, key) { @segment.get_late_with_token(key) }

        def theirs(...)
          lease = super
          NearLease.new(lease.key, lease.lineage, lease.holder, version: lease.version, stale: lease.stale,
                                                                lapses_at: lease.lapses_at).tap do |met|
            met.met_at = @near.now
          end
        end
      end

      # @param tiers [Tiers]
      # @param guard [Guard] of the last tier
      def initialize(tiers, guard)
        super()
        @guard = guard
        @far = Leases.kept_under_keys(tiers, guard)
        @near = Near.new(tiers.before_last)
      end

      def take(key, ttl, shown: nil, **, &)
        answered(@far.take(key, ttl, shown:, **, &)) { @near.take(key, ttl, **, &) }
      end

      def take_absent(key, ttl, version)
        answered(@far.take_absent(key, ttl, version)) { @near.take_absent(key, ttl, version) }
      end

      def take_multi(keys, ttl, versions: {}, shown: {}, &)
        taken = @far.take_multi(keys, ttl, versions:, shown:, &)
        taken.to_h do |key, far|
          answer = answered(far) do
            @near.take(key, ttl, version: versions[key]) { |bytes| yield key, bytes }
          end
          [key, answer]
        end
      end

      def fill(lease, bytes, ttl)
        return @far.fill(lease, bytes, ttl) unless lease.is_a?(NearLease)
        near = @near.fill(lease, bytes, ttl) # first: who waits is given it, whatever becomes of the other
        far = @far.fill(lease.far, bytes, ttl) if lease.far&.sent? && !@guard.open?
        far.nil? ? near : far
      end

      def fill_multi(frames, ttl)
        near, far = frames.partition { |lease, _| lease.is_a?(NearLease) }
        stored = far.empty? ? [] : @far.fill_multi(far.to_h, ttl)
        stored && (stored + near.filter_map { |lease, bytes| lease.key if fill(lease, bytes, ttl) })
      end

      def release(lease, **options)
        return @far.release(lease, **options) unless lease.is_a?(NearLease)
        @near.release(lease, **options)
        @far.release(lease.far, **options) if lease.far
      end

      def wait(lease, deadline) = of(lease).wait(lease, deadline)
      def seen(key, bytes) = @far.seen(key, bytes)
      def lapsed?(lease) = of(lease).lapsed?(lease)
      def close = @far.close

      private

      # @param far [Lease, Object] what the last tier said
      # @yieldreturn [Lease, Present, Array, nil] what the near table says
      # @return [Object] the one, or the other where the last tier has not answered
      def answered(far)
        return far unless far.is_a?(Lease) && far.mine? && !far.sure?
        near = yield
        return near.tap { near.far = far } if near.is_a?(NearLease) && near.mine? && near.sure?
        return far if near.is_a?(Lease) && near.mine? # the table is not there either
        @far.release(far)
        near
      end

      def of(lease) = lease.is_a?(NearLease) ? @near : @far
    end
  end
end
