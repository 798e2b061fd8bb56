# frozen_string_literal: true

require "tmpdir"
require_relative "../documents/scaling"
require_relative "../runner/pinning"
require_relative "../scaling/crowd"
require_relative "../scaling/works"
require_relative "../table_command"

module Tiercel
  module Lab
    module Commands
      # Readers and writers of one segment by their number, against the same work on private memory.
      class Scaling < TableCommand
        called "scaling", "How reads and writes of shared: grow with processes, against a loop on private memory."
        example "scaling", "scaling --quick"

        ROUNDS = 20
        QUICK_ROUNDS = 8
        SECONDS = 0.25

        def self.document(results, command:) = Documents::Scaling.new(results, command:).build

        def expected_seconds = rounds * works_seconds

        def take(_comparisons)
          session.watch(rounds * works_seconds) do |progress|
            Dir.mktmpdir("tiercel-scaling-", shared_memory) { |directory| record(directory, progress) }
          end
        end

        private

        def rounds = settings.quick ? QUICK_ROUNDS : ROUNDS

        def works_seconds = Lab::Scaling::Works::CONTROLS.size * 2 * counts.size * (SECONDS + 0.1)

        # One process, and as many as there are CPUs.
        def counts = [1, cpus.size].uniq

        def cpus = @cpus ||= Runner::Pinning.allowed_cpus

        def shared_memory = File.writable?("/dev/shm") ? "/dev/shm" : Dir.tmpdir

        def record(directory, progress)
          works = Lab::Scaling::Works.all(directory)
          crowd = Lab::Scaling::Crowd.new(cpus:, seconds: SECONDS)
          rows = Array.new(rounds) do |round|
            measure(works, crowd, round).tap { progress.advance(works_seconds, "round #{round + 1}") }
          end
          session.recorder.table("throughput", rows.flatten, processes: counts)
        end

        # All works with all numbers of processes, in an order that turns with each round.
        def measure(works, crowd, round)
          pairs = works.keys.product(counts).rotate(round)
          (round.even? ? pairs : pairs.reverse).map do |name, count|
            { "round" => round, "work" => name, "processes" => count,
              "per_second" => crowd.run(count) { |index| works[name].call(index) } }
          end
        end
      end

      add Scaling
    end
  end
end
