# frozen_string_literal: true

require_relative "../engine/outcome"
require_relative "../network/round_trip"
require_relative "calls"
require_relative "driver"
require_relative "entries"
require_relative "keys"
require_relative "subject"

module Tiercel
  module Lab
    module Load
      # A process of a {Fleet}: opens stores, makes requests, and verifies values. Every answer is an {Engine::Outcome}.
      # Tables with operations of their own subclass it.
      class Client
        # The id of a process' only store.
        STORE = "store"
        # Calls before the measurement; YJIT compiles a method at its 30th call.
        WARM_UP = 64

        def initialize
          @subjects = {}
        end

        # @param text [String] text of the contestant
        # @param context [Hash] see {Engine::Context#initialize}
        # @param entries [Hash] see {Entries#initialize}
        # @param keys [Hash] see {Keys#initialize}
        # @param id [String] id of the store within this process
        # @param filled [Boolean] whether to write and verify all entries
        def open(text:, context:, entries:, keys: {}, id: STORE, filled: false)
          Engine::Outcome.of do
            entries = Entries.new(**entries)
            keys = Keys.new(items: entries.size, **keys)
            subject = @subjects[id] = Subject.new(text:, context:, entries:, keys:)
            next unless filled
            subject.fill
            subject.verify
            { bytes: Marshal.dump(entries.value(0)).bytesize }
          end
        end

        # @param operations [Array<String>] operations, called in turn
        def warm_up(operations:, id: STORE)
          Engine::Outcome.of do
            calls = operations.map { |name| Calls.of(name, subject(id)) }
            WARM_UP.times { |turn| calls.each { |call| call.call(turn % subject(id).entries.size) } }
          end
        end

        # Makes requests.
        #
        # @param operation [String] name of an operation in {Calls}
        # @param arrivals [Hash] see {Arrivals}
        # @param slices [Integer, nil] number of repetitions; nil: one, and the answer is no list
        # @param must_hit [Boolean] whether a request without a value is a fault
        # @return [Hash] see {Driver#run}; with `slices`, "slices" is a list of them
        def drive(operation:, arrivals:, id: STORE, slices: nil, must_hit: true, **options)
          Engine::Outcome.of do
            GC.start
            arrivals = Arrivals.new(**arrivals)
            call = Calls.of(operation, subject(id))
            found = Array.new(slices || 1) { Driver.new.run(arrivals, subject(id).keys, **options, &call) }
            found.each { |slice| expect_hits(operation, slice) } if must_hit
            slices ? { slices: found } : found.first
          end
        end

        # Verifies values after the timed part, and releases unused memory.
        #
        # @param options [Hash] see {Subject#verify}
        def verify(id: STORE, **options)
          Engine::Outcome.of { subject(id).verify(**options) }.tap { GC.start }
        end

        # @return [Float] median of the round trips in seconds; see {Network::RoundTrip}
        def round_trip(host:, port:, request:, samples:) = Network::RoundTrip.measure(host, port, request:, samples:)

        # @return [true]
        def close
          @subjects.each_value(&:close)
          true
        end

        private

        # Builds a store without entries.
        #
        # @return [Hash] see {Engine::Outcome.of}
        def build(text, context) = Engine::Outcome.of { @subjects[STORE] = Subject.new(text:, context:) }

        def subject(id = STORE) = @subjects.fetch(id)

        def store = subject.store

        # @return [Float] monotonic seconds
        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

        def wait_until(moment)
          while (left = moment - now).positive?
            sleep(left)
          end
        end

        def expect_hits(operation, slice)
          missed = slice[:requests] - slice[:hits]
          return unless missed.positive?
          words = "#{missed} of #{slice[:requests]}"
          raise WrongValue, "#{words} writes were refused" if %w[write backend_set].include?(operation)
          raise Missed, "#{words} requests found nothing"
        end
      end
    end
  end
end
