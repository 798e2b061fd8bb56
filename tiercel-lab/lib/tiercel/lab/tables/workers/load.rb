# frozen_string_literal: true

require_relative "../../engine/subject"
require_relative "../../simulator/zipf"
require_relative "../../values/text"

module Tiercel
  module Lab
    module Tables
      module Workers
        # One worker: asks for names by Zipf's law, and writes what it misses.
        class Load
          # What all values are pieces of.
          BASE_BYTES = 65_536
          # Names whose values are looked at afterwards.
          SAMPLE = 200

          # @param text [String] of the contestant
          # @param label [String] of the configuration: all workers ask for the same names
          # @param worker [Integer]
          # @param context [Hash] see {Engine::Context#initialize}
          # @param items [Integer]
          # @param value_bytes [Integer]
          # @param zipf [Float] exponent
          # @param seed [Integer]
          # @return [Hash] see {Engine::Outcome.of}
          def open(text:, label:, worker:, context:, items:, value_bytes:, zipf:, seed:)
            @value_bytes = value_bytes
            @zipf = Simulator::Zipf.new(items, zipf)
            @random = Random.new((seed * 1_000) + worker)
            # Popular names must not be neighbours.
            @names = Array.new(items) { |index| format("tiercel-lab:%s:%07d", label, index) }
                          .shuffle(random: Random.new(seed))
            @base = Values::Text.new(name: "base", title: "", bytes: BASE_BYTES, count: 1).generate(seed).first
            Engine::Outcome.of do
              @subject = Engine::Subject.new(text:, values: [], prefix: "#{label}-#{worker}", context:)
            end
          end

          # @param requests [Integer]
          # @return [Hash] "hits", "requests", "seconds", "cpu_seconds"
          def run(requests:)
            Engine::Outcome.of { timed(Array.new(requests) { @zipf.sample(@random) }) }
          end

          # @param requests [Integer]
          # @param segments [Integer]
          # @return [Hash] "segments": each as of {#run}
          def measure(requests:, segments:)
            GC.start
            outcomes = Array.new(segments) { run(requests: requests / segments) }
            failed = outcomes.find { |outcome| outcome["status"] != "measured" }
            failed || { "status" => "measured", "segments" => outcomes }
          end

          # Looks at values outside of what is timed, and frees what is not needed.
          #
          # @return [Hash]
          def settle
            outcome = Engine::Outcome.of do
              [SAMPLE, @names.size].min.times do |rank|
                found = @subject.store.read(@names[rank])
                raise WrongValue, "a name has another's value" unless found.nil? || found == value(rank)
              end
            end
            GC.start
            outcome
          end

          # @return [true]
          def close
            @subject&.close
            true
          end

          private

          # What a block would have made. Different for every rank, and the same whoever makes it.
          def value(rank)
            start = rank % (BASE_BYTES - @value_bytes)
            "#{rank}:#{@base.byteslice(start, @value_bytes)}".byteslice(0, @value_bytes)
          end

          def timed(ranks)
            store, names = @subject.store, @names
            hits = 0
            cpu = cpu_now
            started = now
            ranks.each do |rank|
              if store.read(names[rank])
                hits += 1
              else
                store.write(names[rank], value(rank))
              end
            end
            { hits:, requests: ranks.size, seconds: now - started, cpu_seconds: cpu_now - cpu }
          end

          def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

          def cpu_now = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
        end
      end
    end
  end
end
