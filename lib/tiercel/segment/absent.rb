# frozen_string_literal: true

require_relative "../clock"
require_relative "notice"
require_relative "opening"

module Tiercel
  class Segment
    # Stands in for a segment that cannot be made at present: every call is a
    # miss, and from time to time it is tried again. Once there is one, calls go
    # to it.
    class Absent
      FIRST_PAUSE_SECONDS = 1.0
      LONGEST_PAUSE_SECONDS = 60.0
      # A call waits no longer than that for other processes that make it.
      LOCK_SECONDS = 0.25

      # @param opening [Opening]
      # @param error [Unavailable] why there is none: it was logged when the store was built, and the first call raises
      #   it, so that it is reported once, by when the application's subscribers are there
      def initialize(opening, error)
        error.logged = true
        @opening = opening
        @place_name = opening.place.to_s
        @error = error
        @pause_seconds = FIRST_PAUSE_SECONDS
        @again_at = Clock.monotonic + @pause_seconds
        @lock = Mutex.new
      end

      (Segment.public_instance_methods(false) - %i[path close clear_memo inspect]).each do |name|
        define_method(name) { |*arguments, **options, &block| segment.public_send(name, *arguments, **options, &block) }
      end

      # @return [String] where it is, or would be
      def path = @segment ? @segment.path : @opening.place.path

      # @return [void]
      def close = @segment&.close

      # Code reloads call this method on every memo, so it works without a segment too.
      #
      # @return [void]
      def clear_memo = @segment&.clear_memo

      # @return [String]
      def inspect = "#<#{self.class.name} #{path}>"

      private

      # @raise [Unavailable] the first time
      # @raise [BreakerOpen] from then on, until it is there
      def segment
        @segment || @lock.try_lock && begin
          @segment ||= Clock.monotonic >= @again_at ? try : nil
        ensure
          @lock.unlock
        end || raise_absent
      end

      def try
        segment = @opening.call(lock_seconds: LOCK_SECONDS)
        Notice.warn("#{segment.path} could be made now and is used")
        segment
      rescue Unavailable, ConfigurationError
        @pause_seconds = [@pause_seconds * 2, LONGEST_PAUSE_SECONDS].min
        @again_at = Clock.monotonic + @pause_seconds
        nil
      end

      def raise_absent
        error, @error = @error, nil
        raise error if error
        raise quick_error
      end

      # Without a backtrace, which would be most of what a call costs in the depths of a request. It is not reported.
      def quick_error
        BreakerOpen.new("there is no segment, and none could be made", backend: @place_name).tap do |error|
          error.set_backtrace([])
        end
      end
    end
  end
end
