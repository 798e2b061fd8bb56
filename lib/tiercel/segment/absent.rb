# frozen_string_literal: true

module Tiercel
  # Replaces a segment that cannot be created at present. Every call is a miss. At most every {PAUSE_SECONDS}, a call
  # retries the creation. Once the segment exists, all calls go to it.
  class Segment::Absent
    # Seconds between two attempts.
    PAUSE_SECONDS = 5.0

    # @param place [Place] names the segment
    # @param error [Unavailable] the reason why there is no segment, which was logged when the store was built. The
    #   first call raises the error again, because the application's error subscribers exist by that time
    # @yieldreturn [Segment] the result of another attempt ({Place#open})
    def initialize(place, error, &open)
      error.logged = true
      @place = place
      @open = open
      @error = error
      @again_at = Clock.monotonic + PAUSE_SECONDS
      @lock = Mutex.new
    end

    (Segment.public_instance_methods(false) - %i[path close clear_memo inspect]).each do |name|
      define_method(name) { |*arguments, **options, &block| segment.public_send(name, *arguments, **options, &block) }
    end

    # @return [String] the actual or intended path
    def path = @segment ? @segment.path : @place.path

    # @return [void]
    def close = @segment&.close

    # Code reloads call this on every memo, so it must work without a segment.
    #
    # @return [void]
    def clear_memo = @segment&.clear_memo

    # @return [String]
    def inspect = "#<#{self.class.name} #{path}>"

    private

    # @raise [Unavailable] on the first call
    # @raise [BreakerOpen] on later calls, until the segment exists
    def segment
      @segment || @lock.try_lock && begin
        @segment ||= Clock.monotonic >= @again_at ? try : nil
      ensure
        @lock.unlock
      end || raise_absent
    end

    def try
      segment = @open.call
      Reports.notice("#{segment.path} was created and is used now")
      segment
    rescue Unavailable, ConfigurationError
      @again_at = Clock.monotonic + PAUSE_SECONDS
      nil
    end

    def raise_absent
      error, @error = @error, nil
      raise error if error
      raise BreakerOpen.quick("the segment does not exist and could not be created", backend: @place.to_s)
    end
  end
end
