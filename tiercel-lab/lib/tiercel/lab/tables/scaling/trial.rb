# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Scaling
        # Runs the same work in several processes at the same time, each on its own CPU: on one shared segment, or on
        # private memory. Private memory is the control: it shows how work of any processes grows on this machine.
        class Trial < Load::Trial
          # A kind of work: its contestant, its operation, and whether each process has its own entries.
          Work = Data.define(:text, :operation, :own)

          PRIVATE = "tiercel:memory:#size=64MB"
          SHARED = "tiercel:shared:%s?size=64MB"
          WORKS = {
            "loop on private memory" => Work.new(PRIVATE, "backend_get", false),
            "shared: get" => Work.new(SHARED, "backend_get", false),
            "private set" => Work.new(PRIVATE, "backend_set", true),
            "shared: set" => Work.new(SHARED, "backend_set", true)
          }.freeze
          # The control of each work.
          CONTROLS = { "shared: get" => "loop on private memory", "shared: set" => "private set" }.freeze

          SECONDS = 0.25
          START_SECONDS = 0.6
          KEYS = 1_000
          BYTES = 1_024

          # @param rounds [Integer] each with fresh processes
          # @param counts [Array<Integer>] numbers of processes
          # @param cpus [Array<Integer>] one for each process
          def initialize(rounds:, counts:, cpus:, **)
            super(**)
            @rounds = rounds
            @counts = counts
            @pinnings = cpus.map { |cpu| Engine::Pinning.new(cpus: [cpu]) }
          end

          def expected_seconds = @rounds * round_seconds

          private

          def round_seconds = (@counts.max * START_SECONDS) +
            (WORKS.size * @counts.size * (SECONDS + Load::Fleet::LEAD_SECONDS))

          def measure
            @rounds.times do |round|
              with_fleet(@counts.max, pinnings: @pinnings) { |fleet| one_round(fleet, round) }
              @progress.advance(round_seconds, "round #{round + 1}")
            end
          end

          # All works with all numbers of processes, in an order that turns with each round.
          def one_round(fleet, round)
            WORKS.each { |name, work| open(fleet, name, work, label(round)) }
            pairs = WORKS.keys.product(@counts).rotate(round)
            (round.even? ? pairs : pairs.reverse).each do |name, processes|
              rows << { "round" => round, "work" => name, "processes" => processes,
                        "per_second" => rate(fleet.first(processes), name) }
            end
          end

          def open(fleet, name, work, label)
            segment = File.join(@scratch.folders["tmpfs"] || @scratch.folders.fetch("disk"), label)
            text = work.text.sub("%s", segment)
            fleet.open(id: name, text:, filled: true) do |index|
              { entries: { label: work.own ? index.to_s : "all", items: KEYS, bytes: BYTES, seed: @seed },
                context: { servers: {}, folders: @scratch.folders, label: } }
            end
          end

          # @return [Float] calls a second of wall clock, all processes together
          def rate(fleet, name)
            arrivals = { seconds: SECONDS, at: Load::Fleet.soon }
            fleet.call("drive", id: name, operation: WORKS.fetch(name).operation, arrivals:)
                 .sum { |answer| answer["requests"] / answer["seconds"] }
          end
        end
      end
    end
  end
end
