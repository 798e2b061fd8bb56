# frozen_string_literal: true

module Tiercel
  class Tiers < Backend
    # Leases over {Tiers}: placeholders in the last tier, for all machines. While the last tier does not answer, a lease
    # in the near segment's table lets one caller of this machine compute a value.
    #
    # The last tier may have granted the lease too, in a call whose answer was lost. If possible, a fill stores the
    # value in the last tier. It always leaves a near copy, which lives as long as any other copy.
    #
    # @private
    class StackLeases < Leases
      # A lease of the near table.
      class NearLease < Leases::Lease
        # @return [Lease] the lease that the last tier did not confirm
        attr_accessor :last
        # @return [Integer, nil] {Tiers::Near#now} before the block begins
        attr_accessor :met_at
      end

      # The table of the near tier.
      class Near < Leases::Segment
        # @param near [Tiers::Near]
        def initialize(near)
          super(near.backend.segment, near.guard)
          @near = near
        end

        # An untrusted copy counts as a miss, unless this machine computed it during the outage.
        def take(mine, **)
          super do |bytes|
            verdict = yield bytes
            verdict unless verdict == :current && !@near.trusted? && !@near.computed_lately?(bytes)
          end
        end

        # Stores a near copy of a value that the last tier cannot store. Stores none while a writer changes the key. A
        # writer that begins after this check ends the lease.
        def fill(lease, bytes, ttl)
          copy, ttl = @near.copy(lease.key, bytes, ttl, lease.met_at)
          free = copy && @guard.call(:write_entry, lease.key) { @segment.near_epoch(lease.key, true) }
          free ? super(lease, copy, ttl) : false
        end

        def own(key, ttl, version)
          name = Lease.new_name(@runtime)
          NearLease.own(key, ttl, version, name, name).tap { |lease| lease.met_at = @near.now }
        end

        private

        # Waiting callers get the computed value even if copies are not trusted.
        def look(key) = @guard.call(:read_entry, key) { @segment.get_with_token(key, true) }

        def theirs(...)
          lease = super
          NearLease.new(lease.key, lease.lineage, lease.holder, version: lease.version, stale: lease.stale,
                        lapses_at: lease.lapses_at).tap { |met| met.met_at = @near.now }
        end
      end

      # @param tiers [Tiers]
      # @param guard [Guard] the last tier's guard
      def initialize(tiers, guard)
        super()
        @guard = guard
        @last = Leases.kept_under_keys(tiers, guard)
        @near = Near.new(tiers.near)
      end

      def take(mine, shown: nil, &)
        answered(@last.take(mine, shown:, &)) { @near.take(near_of(mine), &) }
      end

      def take_multi(leases, shown: {}, &)
        @last.take_multi(leases, shown:, &).zip(leases).map do |lease, mine|
          answered(lease) { @near.take(near_of(mine)) { |bytes| yield mine, bytes } }
        end
      end

      def abandon(lease) = of(lease).abandon(lease)

      def fill(lease, bytes, ttl)
        return @last.fill(lease, bytes, ttl) unless lease.is_a?(NearLease)
        near = @near.fill(lease, bytes, ttl) # first: waiting callers get the value whatever the last tier answers
        last = @last.fill(lease.last, bytes, ttl) if lease.last&.sent? && !@guard.open?
        last.nil? ? near : last
      end

      def fill_multi(frames, ttl)
        near, last = frames.partition { |lease, _| lease.is_a?(NearLease) }
        stored = last.empty? ? [] : @last.fill_multi(last.to_h, ttl)
        stored && (stored + near.filter_map { |lease, bytes| lease.key if fill(lease, bytes, ttl) })
      end

      def release(lease, **options)
        return @last.release(lease, **options) unless lease.is_a?(NearLease)
        @near.release(lease, **options)
        @last.release(lease.last, **options) if lease.last
      end

      def wait(lease, deadline) = of(lease).wait(lease, deadline)
      def seen(key, bytes) = @last.seen(key, bytes)
      def lapsed?(lease) = of(lease).lapsed?(lease)
      def close = @last.close

      private

      def near_of(mine) = @near.own(mine.key, mine.ttl, mine.version)

      # @param last [Lease, Object] the last tier's answer
      # @yieldreturn [Lease, Present, Array, nil] the result of the near table, used if the last tier did not answer
      # @return [Object] the last tier's answer, or the near table's result
      def answered(last)
        return last unless last.is_a?(Lease) && last.mine? && !last.sure?
        near = yield
        return near.tap { near.last = last } if near.is_a?(NearLease) && near.mine? && near.sure?
        return last if near.is_a?(Lease) && near.mine? # the table does not exist either
        @last.release(last)
        near
      end

      def of(lease) = lease.is_a?(NearLease) ? @near : @last
    end
  end
end
