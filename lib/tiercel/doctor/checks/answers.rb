# frozen_string_literal: true

require "securerandom"
require_relative "../check"
require_relative "../../clock"

module Tiercel
  class Doctor
    module Checks
      # Does the store answer? Writes a value, reads it back, deletes it, and measures the time of reads.
      class Answers < Check
        READS = 11
        # A longer round trip means another region or an overloaded server.
        SLOW_SECONDS = 0.010
        private_constant :READS, :SLOW_SECONDS

        private

        def examine
          return sound("stores nothing, by configuration") if subject.kind == :null_store
          key = "tiercel:doctor:#{SecureRandom.hex(8)}"
          return unanswered unless subject.store.write(key, key, expires_in: 60)
          return lost unless subject.store.read(key) == key
          judge(round_trip(key))
          subject.uncount(key, READS + 1)
        ensure
          subject.store.delete(key) if key
        end

        def unanswered
          found("#{subject}: a write failed: the backend is unreachable, full or read-only",
                fix: "see the log for the reason; check the address and that the server is running")
        end

        def lost
          found("#{subject}: a value that was just written cannot be read back",
                fix: "check the server's memory limit: it may evict new entries immediately")
        end

        def judge(seconds)
          milliseconds = format("%.3f ms", seconds * 1_000)
          return sound("#{subject} answers; a read takes #{milliseconds}") if seconds < SLOW_SECONDS
          found("#{subject}: a read takes #{milliseconds}", fix: "use a nearer server, or put shared: in " \
                                                                 "front: \"shared:\", \"redis://...\"")
        end

        # The median time of a read without the request-local cache.
        def round_trip(key)
          times = Array.new(READS) do
            began = Clock.monotonic
            subject.store.read(key)
            Clock.monotonic - began
          end
          times.sort[READS / 2]
        end
      end
    end
  end
end
