# frozen_string_literal: true

# A program that watches this process' stores without subscribing to their events, such as tiercel-insight. A hit of
# `shared:` costs less than an event. A segment therefore passes on the reads of some keys only ({Segment#sample}), and
# a `fetch` only the durations of its blocks.
#
# @private
module Tiercel::Observer
  class << self
    # @return [#untimed?, #computed, #recount, nil] `untimed?` says whether the next block of a backend needs no timing;
    #   `computed` receives the backend, the key and the duration in nanoseconds of each other block of `fetch`;
    #   `recount` receives corrections of the hits and misses that a segment counts
    def current = Tiercel::Runtime.current.observer

    # @param observer [Object, nil] for the stores of the main Ractor
    def current=(observer)
      Tiercel::Runtime.current.observer = observer
    end

    # Runs the block of a `fetch`.
    #
    # @param observer [Object]
    # @param backend [Backend]
    # @param key [String]
    # @return [Object] the block's value
    def timed(observer, backend, key)
      return yield if observer.untimed?(backend)
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      begin
        yield
      ensure
        observer.computed(backend, key, Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - began)
      end
    end
  end
end
