# frozen_string_literal: true

require_relative "../../load/client"

module Tiercel
  module Lab
    module Tables
      module Tiers
        # A process with its own near tiers, which simulates another machine. One machine changes entries, and another
        # one watches.
        class Machine < Load::Client
          VALUE_BYTES = 1_000
          OLD = "old"
          NEW = "new"
          # The pause between two reads of all names.
          PAUSE_SECONDS = 0.000_5
          # The number of names in one call of {#hear}.
          BATCH = 100

          # @param text [String] the contestant
          # @param label [String] prefix of the names, the same on all machines
          # @param names [Integer]
          # @param context [Hash] see {Engine::Context#initialize}; its label belongs to the machine. The process then
          #   listens to changes of other machines
          # @return [Hash] see {Engine::Outcome.of}
          def open(text:, label:, names:, context:)
            @label, @names = label, names
            build(text, context)
          end

          # @return [Hash]
          def write(names:)
            Engine::Outcome.of do
              each_name(names) { |name| store.write(name, value(OLD)) or raise WrongValue, "a write was refused" }
            end
          end

          # Reads all names, so that the near tier has copies.
          #
          # @return [Hash]
          def warm(names:)
            Engine::Outcome.of do
              all = Array.new(names) { |index| name(index) }
              Contestants::NearCopies.fill(store, all)
              found = all.each_slice(BATCH).sum { |slice| store.read_multi(*slice).size }
              raise Missed, "nothing came back for what had been written" if found < names
            end
          end

          # Changes each name once, at random moments. Every second name is deleted.
          #
          # @param gap_ms [Float] average time between two changes
          # @param at [Float] seconds of the monotonic clock, which all processes of a machine share
          # @return [Hash] "returned": seconds at which each change had returned
          def change(names:, gap_ms:, at:, seed:)
            Engine::Outcome.of do
              random = Random.new(seed)
              wait_until(at)
              { returned: Array.new(names) { |index|
                sleep(-Math.log(1 - random.rand) * gap_ms / 1e3)
                index.odd? ? store.delete(name(index)) : store.write(name(index), value(NEW))
                now
              } }
            end
          end

          # Reads all names repeatedly.
          #
          # @return [Hash] "seen": the time of the first read that saw each name's change, in seconds, or nil;
          #   "looks_ms": the time between two reads of a name
          def watch(names:, at:, seconds:)
            Engine::Outcome.of do
              wait_until(at)
              looks(names, at + seconds)
            end
          end

          # Starts threads that compute until the process ends.
          #
          # @return [Hash]
          def compute(threads:)
            Engine::Outcome.of do
              @computing = true
              @threads = Array.new(threads) { Thread.new { nil while @computing } }
              nil
            end
          end

          # Overwrites all names as fast as possible.
          #
          # @return [Hash] "from", "to"
          def burst(names:, at:)
            Engine::Outcome.of do
              wait_until(at)
              from = now
              each_name(names) { |name| store.write(name, value(NEW)) }
              { from:, to: now }
            end
          end

          # Reads the names until all have new values, or the time is over.
          #
          # @return [Hash] "heard": number of changes seen; "last": time of the last one in seconds
          def hear(names:, at:, seconds:)
            Engine::Outcome.of do
              wait_until(at)
              pending = Array.new(names) { |index| name(index) }
              last = nil
              until pending.empty? || now > at + seconds
                left = pending.each_slice(BATCH).flat_map { |slice| slice - heard_of(slice) }
                last = now if left.size < pending.size
                pending = left
                sleep PAUSE_SECONDS
              end
              { heard: names - pending.size, last: }
            end
          end

          # @return [true]
          def close
            @computing = false
            @threads&.each(&:join)
            store.delete_multi(Array.new(@names) { |index| name(index) }) if @subjects.any?
            super
          end

          private

          def name(index) = "tiercel-lab:#{@label}:#{index}"

          def each_name(count) = count.times { |index| yield name(index) }

          def value(word) = "#{word}:".ljust(VALUE_BYTES, "x")

          # Every second name was deleted, the others have a new value.
          def changed?(index, found)
            return found.nil? if index.odd?
            return found == value(NEW) if [value(OLD), value(NEW)].include?(found)
            raise WrongValue, "something else came back than was written"
          end

          def looks(names, deadline)
            pending = (0...names).to_a
            seen = Array.new(names)
            gaps = []
            before = now
            until pending.empty? || now > deadline
              pending -= look(pending, seen)
              sleep PAUSE_SECONDS
              gaps << -(before - (before = now)) * 1e3
            end
            { seen:, looks_ms: [0.5, 0.99, 1.0].map { |share| gaps.sort[((gaps.size - 1) * share).floor]&.round(3) } }
          end

          # Reads all names in one call. Names without a copy then need one round trip, which waits for the interpreter
          # only once.
          #
          # @return [Array<Integer>] the indexes of names with a visible change
          def look(pending, seen)
            began = now
            found = store.read_multi(*pending.map { |index| name(index) })
            pending.select { |index| changed?(index, found[name(index)]) && seen[index] = began }
          end

          def heard_of(names)
            fresh = value(NEW)
            store.read_multi(*names).select { |_name, found| found == fresh }.keys
          end
        end
      end
    end
  end
end
