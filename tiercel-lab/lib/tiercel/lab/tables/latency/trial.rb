# frozen_string_literal: true

require_relative "../../engine"
require_relative "site"

module Tiercel
  module Lab
    module Tables
      module Latency
        # Measures a {Design}: fresh client processes, in each all stores and places in turn, then in reverse.
        class Trial < Engine::Trial
          # Round trips asked for in each process, as many as fit.
          ROUND_TRIPS = 50
          ROUND_TRIP_SECONDS = 0.5

          # @return [Array<Hash>] one for each store and offered load
          attr_reader :loads
          # @return [Hash{String => String}] versions of the servers
          attr_reader :versions

          # A row for each slot of the design.
          def initialize(design, **)
            super(**)
            @design = design
            @versions = {}
            @loads = []
            @by_slot = design.slots.to_h { |slot| [slot, blank(**facts(slot))] }
            @rows = @by_slot.values
          end

          private

          def facts(slot)
            { store: slot.contestant.name, text: slot.contestant.text, place: slot.place, kind: slot.kind,
              delay_ms: slot.delay_ms, megabits: slot.megabits, medium: slot.contestant.medium.to_s,
              iterations: nil, bytes: nil, runs: [], round_trips: [], long: nil }
          end

          def measure
            @site = Site.new(@design.servers, pinning: @pinning).start
            @versions = @site.versions
            @design.processes.times { |process| run_process(process) }
          ensure
            @site&.stop
          end

          def run_process(process)
            @client = job("tables/latency/client")
            open(process)
            @progress.advance(Design::PROCESS_SECONDS, "stores built")
            run_loops(process)
            running.each { |slot| ask_round_trip(slot) }
            run_long if process.zero?
            offer_loads(process)
            @client.call("close").each { |id, outcome| note_subject(id, outcome) }
          rescue WorkerLost => e
            lost = Engine::Outcome.failure(Engine::Outcome::CANNOT_RUN, e.message)
            running.each { |slot| note(@by_slot[slot], lost) }
          ensure
            @client&.stop
          end

          def running = @design.slots.select { |slot| measured?(@by_slot[slot]) }

          def open(process)
            running.uniq(&:subject).each_with_index do |slot, index|
              label = format("%d-%02d-%02d", Process.pid, process, index)
              @ids = {} if index.zero?
              @ids[slot.subject] = label
              @site.move_to(slot)
              note_subject(label, @client.call("open", id: label, text: slot.contestant.text, value: @design.value,
                                               seed: @seed,
                                               context: { servers: @site.facts(far: slot.proxied?),
                                                          folders: @scratch.folders, label: }))
            end
          end

          # An outcome of one store holds for all places that it is asked from.
          def note_subject(id, outcome)
            subject = @ids.key(id)
            @design.slots.select { |slot| slot.subject == subject }.each do |slot|
              note(@by_slot[slot], outcome)
              @by_slot[slot]["bytes"] ||= outcome["bytes"]
            end
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

          # @return [Hash, nil] its answer; nil where it failed, which the slot's row then says
          def ask(slot, method, **arguments)
            outcome = @client.call(method, id: @ids[slot.subject], **arguments)
            return outcome if measured?(outcome)
            note(@by_slot[slot], outcome)
            nil
          end

          # Found in the first process, then the same for all.
          def iterations_of(slot)
            @by_slot[slot]["iterations"] ||= begin
              @site.move_to(slot)
              outcome = ask(slot, "probe") or return
              (@design.budget_seconds / outcome["seconds"]).floor.clamp(5, @design.iterations)
            end
          end

          def timed(slot, iterations)
            @site.move_to(slot)
            before = @site.cpu_seconds(slot.contestant)
            outcome = ask(slot, "run", iterations:) or return
            after = @site.cpu_seconds(slot.contestant)
            outcome.slice("iterations", "real", "user", "system").merge("server" => (after - before if before && after))
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
              @progress.advance(seconds,
                                "#{@design.long_iterations} iterations, #{slot.contestant.name}, #{slot.place}")
            end
          end

          def offer_loads(process)
            @design.loaded.select { |slot| running.include?(slot) }.each do |slot|
              rate = capacity(slot, process) or next
              @design.loads.each { |share| offer(slot, share, rate, process) }
            end
          end

          # What a closed loop of fetches reaches; found in the first process.
          def capacity(slot, process)
            @capacities ||= {}
            return @capacities[slot] unless process.zero?
            outcome = ask(slot, "capacity") or return
            @capacities[slot] = outcome["rate"]
          end

          def offer(slot, share, capacity, process)
            outcome = @client.call("open_loop", id: @ids[slot.subject], rate: capacity * share,
                                                arrivals: @design.arrivals, seconds: @design.load_seconds,
                                                seed: @seed + process)
            @loads << { "store" => slot.contestant.name, "place" => slot.place, "share_of_capacity" => share,
                        "capacity" => capacity, "process" => process }.merge(outcome)
            @progress.advance(@design.load_seconds, "#{slot.contestant.name} at #{(share * 100).round} %")
          end
        end
      end
    end
  end
end
