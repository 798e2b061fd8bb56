# frozen_string_literal: true

require_relative "../frame"
require_relative "fetch/flights"

module Tiercel
  module Store
    # Turns values into frames with a TTL, and stores the value of a block in the place of its lease (the fill).
    #
    # @private
    class Writer
      # Seconds that the backend keeps an expired entry where `race_condition_ttl` is set, so that callers can have the
      # stale value (Rails' own figure).
      RACE_CONDITION_GRACE = 300

      # The backend's TTL for one of zero or less (seconds); the frame says that the entry has expired.
      SHORTEST_TTL = 0.001

      # @param settings [Settings]
      def initialize(settings)
        @settings = settings
      end

      # @param version [String, nil]
      # @param options [Hash] merged
      # @param policy [FetchPolicy]
      # @param jitter [Boolean] whether the end may come earlier
      # @return [String, nil] what is stored; nil where the generations of its tags are unknown
      def frame(value, version, options, policy, jitter: true)
        return value.to_s.b.freeze if options[:raw]
        if (expires_in = options[:expires_in])
          expires_in = expires_in.to_f
          ends = end_after(jitter ? jittered(expires_in, policy) : expires_in)
        end
        threshold = options[:compress] ? options[:compress_threshold] : nil
        bytes = @settings.coder.dump_value(value, ends, version, !threshold.nil?, threshold || 0)
        tagged(with_stale_windows(bytes, policy), options[:tags])&.freeze
      end

      # @param entry [ActiveSupport::Cache::Entry]
      # @param compress [Boolean]
      # @param threshold [Integer] bytes from which it is compressed
      # @return [String] its frame, with the tags that it was read with
      def frame_of_entry(entry, compress, threshold)
        coder = @settings.coder
        bytes = compress ? coder.dump_compressed(entry, threshold) : coder.dump(entry)
        with_recorded_tags(bytes, entry)
      end

      # @param bytes [String] a frame that was made of an entry
      # @param entry [ActiveSupport::Cache::Entry]
      # @return [String] with the tags that the entry was read with
      def with_recorded_tags(bytes, entry)
        recorded = @settings.reader.recorded_tags(entry)
        recorded ? Frame.with_parts(bytes, tags: recorded) : bytes
      end

      # @param bytes [String] a frame without tags
      # @param tags [Tags::Named, nil]
      # @return [String, nil] the frame with its tags; nil where nobody knows their generations
      def tagged(bytes, tags)
        return bytes unless tags
        Frame.with_parts(bytes, tags: tags.known) if @settings.generations.fix(tags)
      end

      # @param bytes [String] of a frame, or what a custom coder made
      # @return [String] the frame, with the time until which it is of use after its end
      def with_stale_windows(bytes, policy)
        return bytes unless policy.stale_seconds && Frame.frame?(bytes) && (ends = Frame.ends_at(bytes))
        windows = [policy.stale_while_revalidate, policy.stale_if_error].map { |seconds| ends + (seconds || 0) }
        Frame.with_parts(bytes, stale: windows)
      end

      # An infinite TTL, or one that is no number, means no expiry, as in Rails' own stores.
      #
      # @param seconds [Float]
      # @return [Float, nil] epoch seconds
      def end_after(seconds) = (Clock.now + seconds if seconds.finite?)

      # @param seconds [Float]
      # @return [Float] less by a random share of at most `jitter:`
      def jittered(seconds, policy) = policy.jitter.zero? ? seconds : seconds * (1 - (rand * policy.jitter))

      # The entry's own end is in its frame (or in what a custom coder made of it); the backend keeps it longer where
      # a stale value may still be asked for. Raw bytes have no frame, so theirs is exact.
      #
      # @return [Float, nil] seconds
      def ttl(raw, expires_in: nil, race_condition_ttl: nil, policy: @settings.policy, **)
        return unless expires_in
        ttl = [expires_in.to_f, SHORTEST_TTL].max unless expires_in.to_f.nan?
        ttl = framed_ttl(ttl, race_condition_ttl, policy) if ttl && !raw
        ttl if ttl&.finite?
      end

      # @param options [Hash] merged
      # @return [Float, nil] seconds
      def fill_ttl(options, policy)
        expires_in = options[:expires_in] or return
        ttl(options[:raw], expires_in:, race_condition_ttl: options[:race_condition_ttl], policy:)
      end

      # Stores what a block gave.
      #
      # @param lease [Leases::Lease, nil] in whose place it is stored; nil where nothing may be stored
      # @param flight [Fetch::Flight] in which it was computed
      # @param bytes [String, nil]
      # @return [Boolean] whether it is stored
      def fill(lease, flight, bytes, ttl, unless_exist: false)
        return false unless bytes
        stored = lease && @settings.leases.fill(lease, bytes, ttl)
        stored = flight.overwrite(@settings.guard, bytes, ttl) unless stored || unless_exist
        @settings.account.wrote if stored
        stored ? rewritten(flight.key, bytes, flight) : warn_if_deleted(flight)
        @settings.consecutive_misses&.count += 1 if stored && lease&.begun?
        @settings.reader.remember(flight.key, stored ? bytes : nil) if @settings.request_local
        stored ? true : false
      end

      # @return [Boolean, nil] whether it is written
      def write(key, bytes, ttl)
        stored = @settings.accessor.set(key, bytes, ttl)
        rewritten(key, bytes) if stored
        stored
      end

      # @yieldparam present [String] the bytes that are in the way
      # @yieldreturn [Boolean] whether they have expired
      # @return [Boolean, nil] whether it is written
      def add(key, bytes, ttl, &)
        stored = @settings.accessor.add(key, bytes, ttl, &)
        rewritten(key, bytes) if stored
        stored
      end

      # @param frames [Hash{String => String}] by key
      # @return [Boolean, nil] whether all are written
      def write_multi(frames, ttl)
        stored = @settings.accessor.set_multi(frames, ttl)
        frames.each { |key, bytes| rewritten(key, bytes) } if stored && !@settings.flights.idle?
        stored
      end

      # A delete that a server receives late leaves such a frame alone ({Backend#delete_frames}).
      def exclusive(bytes)
        @settings.backend.near? || !Frame.frame?(bytes) ? bytes : Frame.with_parts(bytes, exclusive: true)
      end

      # The write may run within the block of the same key: the block's value is then the later one.
      #
      # @param written [String, Integer] bytes, or a count
      # @param flight [Fetch::Flight, nil] whose own value it is
      def rewritten(key, written, flight = nil)
        return if @settings.flights.idle?
        Fetch::Flights.each_held(@settings.backend, key) do |held|
          held.rewritten = written unless held.equal?(flight)
        end
      end

      # The delete may run within the block of one of these keys: the block's value is then not stored.
      def deleted(keys)
        return if @settings.flights.idle?
        keys.each { |key| Fetch::Flights.each_held(@settings.backend, key) { |held| held.deleted = true } }
      end

      # @param flight [Fetch::Flight] whose value is not stored
      def warn_if_deleted(flight)
        @settings.fetch_warnings.deleted(flight.key) if flight.deleted
      end

      private

      def framed_ttl(ttl, race_condition_ttl, policy)
        ttl += policy.stale_seconds if policy.stale_seconds
        return ttl + [RACE_CONDITION_GRACE, race_condition_ttl.to_f * 2].max if race_condition_ttl
        @settings.backend.remote? ? ttl : ttl + [ttl, RACE_CONDITION_GRACE].min
      end
    end
  end
end
