# frozen_string_literal: true

# Stops `Time.now`, so that two runs of one call see the same time.
module StoppedClock
  class << self
    # @return [Time, nil] the result of Time.now; nil for Ruby's own method
    attr_reader :time

    # @param time [Time, nil]
    def time=(time)
      @time = time
      remove_method(:now) if method_defined?(:now, false)
      define_method(:now) { |**| StoppedClock.time } if time
    end

    # @return [Object] the block's value
    def at(time)
      self.time = time
      yield
    ensure
      self.time = nil
    end
  end
end

Time.singleton_class.prepend(StoppedClock)
