# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Latency
        # Measures a {Design} with fresh client processes. In each process all stores and places take turns, in order
        # and in reverse.
        class Trial < Load::Trial
          # Maximum number of round trips measured in each process.
          ROUND_TRIPS = 50
          ROUND_TRIP_SECONDS = 0.5
          # The duration of the warm-up, and the number of its last iterations that estimate the speed.
          PROBE_SECONDS = 0.1
          PROBES = 5

          # @return [Array<Hash>] one for each store and offered load
          attr_reader :loads
          # @return [Hash{String => String}] versions of the servers
          attr_reader :versions

          # A row for each slot of the design.
          def initialize(...)
            super
            @versions = {}
            @loads = []
            @by_slot = @design.slots.to_h { |slot| [slot, blank(**facts(slot))] }
            @rows = @by_slot.values
          end

          private

          def facts(slot)
            { store: slot.contestant.name, text: slot.contestant.text, place: slot.place, kind: slot.kind,
              delay_ms: slot.delay_ms, megabits: slot.megabits, medium: slot.contestant.medium.to_s,
              iterations: nil, bytes: nil, runs: [], round_trips: [], long: nil }
          end

          def measure
            @site = Load::Site.new(@design.servers, pinning: @pinning).start
            @versions = @site.versions
            @design.processes.times do |process|
              with_fleet(1, pinnings: [@pinning]) { |fleet| run_process(fleet.jobs.first, process) }
            end
          ensure
            @site&.stop
          end

          def run_process(client, process)
            @client = client
            running.uniq(&:subject).each_with_index { |slot, index| open(slot, label(process, index)) }
            @progress.advance(Design::PROCESS_SECONDS, "stores built")
            run_loops(process)
            running.each { |slot| ask_round_trip(slot) }
            run_long if process.zero?
            offer_loads(process)
            running.uniq(&:subject).each { |slot| ask(slot, "verify") }
          rescue WorkerLost => e
            lost = Engine::Outcome.failure(Engine::Outcome::CANNOT_RUN, e.message)
            running.each { |slot| note(@by_slot[slot], lost) }
          end

          def running = @design.slots.select { |slot| measured?(@by_slot[slot]) }

          def open(slot, label)
            entries = { label:, seed: @seed, value: @design.value, article: @design.value.nil? }
            context = { servers: @site.facts(far: slot.proxied?), folders: @scratch.folders, label: }
            answer = ask(slot, "open", text: slot.contestant.text, entries:, context:, filled: true) or return
            same_subject(slot).each { |row| row["bytes"] = answer["bytes"] }
          end

          def same_subject(slot) = @by_slot.filter_map { |other, row| row if other.subject == slot.subject }

          # A store that fails to open or to verify fails in all its places.
          #
          # @return [Hash, nil] the answer; nil after a failure, which the rows record
          def ask(slot, method, **arguments)
            @site.move_to(slot)
            outcome = @client.call(method, id: slot.subject, **arguments)
            return outcome if measured?(outcome)
            (%w[open verify].include?(method) ? same_subject(slot) : [@by_slot[slot]]).each { |row| note(row, outcome) }
            nil
          end

          def run_loops(process)
            order = in_turn(@design.slots, process)
            @design.repeats.times do |repeat|
              (repeat.even? ? order : order.reverse).each { |slot| run_loop(slot, process) if running.include?(slot) }
            end
          end

          def run_loop(slot, process)
            iterations = iterations_of(slot) or return
            figures = timed(slot, iterations) or return
            @by_slot[slot]["runs"] << { "process" => process }.merge(figures)
            @progress.advance(@design.run_seconds(slot), "#{slot.contestant.name}, #{slot.place}")
          end

          # The first process determines the number; all processes use it.
          def iterations_of(slot)
            found = probed(slot) or return
            @by_slot[slot]["iterations"] ||= (@design.budget_seconds / found).floor.clamp(PROBES, @design.iterations)
          end

          # Estimates the speed, and warms up.
          #
          # @return [Float, nil] seconds of an iteration
          def probed(slot)
            answer = iterate(slot, seconds: PROBE_SECONDS, measure: "each") or return
            last = answer["ns"].last(PROBES)
            last.sum / 1e9 / last.size
          end

          def iterate(slot, measure: "totals", **arrivals)
            ask(slot, "drive", operation: "exist_and_fetch", arrivals:, measure:)
          end

          def timed(slot, iterations)
            before = @site.cpu_seconds(slot.contestant)
            answer = iterate(slot, requests: iterations) or return
            after = @site.cpu_seconds(slot.contestant)
            { "iterations" => iterations, "real" => answer["seconds"], **answer.slice("user", "system"),
              "server" => (after - before if before && after) }
          end

          def ask_round_trip(slot)
            question = @site.question(slot) or return
            @site.move_to(slot)
            samples = (ROUND_TRIP_SECONDS * 1e3 / [slot.delay_ms || 0, 1].max).floor.clamp(5, ROUND_TRIPS)
            @by_slot[slot]["round_trips"] << @client.call("round_trip", samples:, **question)
          rescue WorkerLost
            nil # the server's own business, such as a password; the loop has been measured
          end

          def run_long
            return unless @design.long_seconds.positive?
            running.each do |slot|
              run = @by_slot[slot]["runs"].last or next
              seconds = run["real"] / run["iterations"] * @design.long_iterations
              next if seconds > @design.long_seconds
              @by_slot[slot]["long"] = timed(slot, @design.long_iterations)
              words = "#{@design.long_iterations} iterations, #{slot.contestant.name}, #{slot.place}"
              @progress.advance(seconds, words)
            end
          end

          # Every store gets the same rates, from low to high.
          def offer_loads(process)
            @design.rates.product(@design.loaded) do |rate, slot|
              next unless running.include?(slot)
              arrivals = { kind: @design.arrivals, rate:, seconds: @design.load_seconds, seed: @seed + process }
              outcome = ask(slot, "drive", operation: "fetch", arrivals:) or next
              @loads << { "store" => slot.contestant.name, "place" => slot.place, "rate" => rate,
                          "process" => process }.merge(outcome)
              @progress.advance(@design.load_seconds, "#{slot.contestant.name} at #{rate.round}/s")
            end
          end
        end
      end
    end
  end
end
