# frozen_string_literal: true

# A program that watches the stores of this process without subscribing to their events, such as tiercel-insight. A
# hit of `shared:` costs less than an event, so a segment passes on only the reads of some keys ({Segment#sample}), and
# a `fetch` only the durations of its blocks.
#
# @private
module Tiercel::Observer
  class << self
    # @return [#computed, nil] receives the key of each block of `fetch`, and its duration in nanoseconds
    attr_accessor :current

    # Runs the block of a `fetch`.
    #
    # @param key [String]
    # @return [Object] the block's value
    def timed(key)
      observer = @current or return yield
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      begin
        yield
      ensure
        observer.computed(key, Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - began)
      end
    end
  end
end
