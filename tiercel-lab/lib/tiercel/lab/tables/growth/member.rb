# frozen_string_literal: true

require_relative "../../load/client"

module Tiercel
  module Lab
    module Tables
      module Growth
        # A process of the fleet: opens the store, may fill it, and times calls with random names.
        class Member < Load::Client
          # Values are pieces of one text of this length.
          BASE_BYTES = 65_536
          # Maximum number of bytes and names in one write_multi while the store is filled.
          FILL_BYTES = 4 * 1024 * 1024
          FILL_NAMES = 1_000
          # The number of entries verified after the timing, and their total bytes.
          SAMPLE = 200
          SAMPLE_BYTES = 64 * 1024 * 1024
          WARM_UP_CALLS = 200

          # @param text [String] text of the contestant
          # @param label [String] label of the configuration
          # @param index [Integer] index of this process
          # @param entries [Integer]
          # @param bytes [Integer] size of a value in bytes
          # @param context [Hash] see {Engine::Context#initialize}
          # @param seed [Integer]
          # @return [Hash] see {Engine::Outcome.of}
          def open(text:, label:, index:, entries:, bytes:, context:, seed:)
            @label, @entries, @bytes = label, entries, bytes
            @random = Random.new((seed * 1_000) + index)
            piece = Values::Text.new(name: "base", title: "", bytes: BASE_BYTES, count: 1).generate(seed).first
            @base = piece * ((bytes / BASE_BYTES) + 2)
            cpu = Contestants.parse(text).clock == :cpu
            @clock = cpu ? Process::CLOCK_PROCESS_CPUTIME_ID : Process::CLOCK_MONOTONIC
            build(text, context).merge("clock" => cpu ? "cpu" : "wall")
          end

          # @param first [Integer]
          # @param count [Integer] number of entries
          # @return [Hash]
          def fill(first:, count:)
            Engine::Outcome.of do
              (first...(first + count)).each_slice(fill_names) { |ranks| store.write_multi(pairs(ranks)) }
            end
          end

          # Allocates the names and values of one slice, so that their memory is not counted as the store's.
          #
          # @param calls [Integer] number of calls in a slice
          # @return [Hash]
          def rehearse(calls:)
            Engine::Outcome.of do
              [fill_names, calls].each { |count| pairs(Array.new(count) { @random.rand(@entries) }) }
              GC.start
            end
          end

          # @param calls [Integer] number of calls in a slice
          # @param slices [Integer] number of slices of each operation; the operations alternate
          # @return [Hash] "slices": nanoseconds a call without the loop's, and of garbage collection, by operation
          def measure(calls:, slices:)
            Engine::Outcome.of do
              OPERATIONS.each { |operation| slice(operation, [calls, WARM_UP_CALLS].min) }
              taken = Array.new(slices) { OPERATIONS.to_h { |operation| [operation, slice(operation, calls)] } }
              { slices: OPERATIONS.to_h { |operation| [operation, taken.map { |each| each[operation] }] } }
            end
          end

          # Verifies values outside of the timing, and frees memory.
          #
          # @return [Hash]
          def settle = Engine::Outcome.of { look }.tap { GC.start }

          private

          OPERATIONS = %w[read fetch write].freeze
          private_constant :OPERATIONS

          def name(rank) = format("tiercel-lab:%s:%08d", @label, rank)

          # Every rank has another value, which is the same in all processes.
          def value(rank) = "#{rank}:".concat(@base.byteslice(rank % BASE_BYTES, @bytes)).byteslice(0, @bytes)

          def fill_names = (FILL_BYTES / @bytes).clamp(1, FILL_NAMES)

          def pairs(ranks) = ranks.to_h { |rank| [name(rank), value(rank)] }

          def look
            [SAMPLE, @entries, [SAMPLE_BYTES / @bytes, 1].max].min.times do
              rank = @random.rand(@entries)
              found = store.read(name(rank))
              raise Missed, "an entry of #{@entries} was gone" if found.nil?
              raise WrongValue, "a name has another's value" unless found == value(rank)
            end
          end

          # Each slice has new names, so that processor cache misses come from the store and not from the loop.
          #
          # @return [Array(Float, Float)] nanoseconds a call: without the loop and garbage collection, and of the latter
          def slice(operation, calls)
            ranks = Array.new(calls) { @random.rand(@entries) }
            names = ranks.map { |rank| name(rank) }
            values = ranks.map { |rank| value(rank) } if operation == "write"
            empty, = timed { loop_over(names) }
            spent, collected = timed { send(:"#{operation}_all", names, values) }
            [(spent - collected - empty).fdiv(calls), collected.fdiv(calls)]
          end

          def timed
            collected = GC.total_time
            started = Process.clock_gettime(@clock, :nanosecond)
            yield
            [Process.clock_gettime(@clock, :nanosecond) - started, GC.total_time - collected]
          end

          def loop_over(names)
            sum = 0
            names.each { |name| sum += name.getbyte(-1) }
            sum
          end

          def read_all(names, _values)
            store, hits = subject.store, 0
            names.each { |name| hits += 1 if store.read(name) }
            expect(hits, names)
          end

          def fetch_all(names, _values)
            store, misses = subject.store, 0
            names.each { |name| store.fetch(name) { misses += 1 } }
            expect(names.size - misses, names)
          end

          def write_all(names, values)
            store, written = subject.store, 0
            names.each_with_index { |name, index| written += 1 if store.write(name, values[index]) }
            raise WrongValue, "#{names.size - written} of #{names.size} writes were refused" if written < names.size
          end

          def expect(hits, names)
            return if hits == names.size
            raise Missed, "#{names.size - hits} of #{names.size} entries were gone: the store did not keep them all"
          end
        end
      end
    end
  end
end
