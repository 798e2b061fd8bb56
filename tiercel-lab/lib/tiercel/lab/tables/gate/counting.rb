# frozen_string_literal: true

require_relative "../../network"

module Tiercel
  module Lab
    module Tables
      module Gate
        # Counts the exact figures of every cell on both sides. A fresh process of the side counts objects, queries and
        # bytes; a relay in front of its server counts round trips and bytes on the wire.
        class Counting < Engine::Trial
          # Number of fresh processes for each side. A figure is exact if all of them agree.
          PROCESSES = 2
          START_SECONDS = 1.5
          CELL_SECONDS = 0.3
          PASSES = 3
          PLACE = /[\w.]+:\d+/

          # Rows have "cell", "side", "process" and figures.
          #
          # @param trees [Array<Tree>] base and head
          # @param cells [Array<GatedCell>]
          # @param first [Integer] number of the first process
          def initialize(trees, cells:, first: 0, **)
            super(**)
            @trees = trees
            @cells = cells
            @first = first
          end

          def expected_seconds = @trees.size * PROCESSES * (START_SECONDS + (@cells.size * CELL_SECONDS))

          private

          def measure
            @relays = {}
            PROCESSES.times do |process|
              in_turn(@trees, process).each { |tree| count_all(tree, @first + process) }
            end
          ensure
            @relays&.each_value(&:stop)
          end

          def count_all(tree, process)
            job = job("tables/gate/counter", bundle: tree.bundle)
            @cells.each do |cell|
              @rows << { "cell" => cell.label, "side" => tree.name, "process" => process, **count(job, cell) }
              @progress.advance(CELL_SECONDS, "#{tree.name}: #{cell.label}")
            end
            @progress.advance(START_SECONDS, tree.name)
          rescue WorkerLost, CannotRun => e
            lost(tree, process, e)
          ensure
            job&.stop
          end

          # Records the cells that a process died before reporting.
          def lost(tree, process, error)
            said = rows.filter_map { |row| row["cell"] if row.values_at("side", "process") == [tree.name, process] }
            failure = Engine::Outcome.failure(Engine::Outcome::CANNOT_RUN, error.message)
            (@cells.map(&:label) - said).each do |label|
              @rows << { "cell" => label, "side" => tree.name, "process" => process, **failure }
            end
          end

          def count(job, cell)
            servers = facts(Contestants.parse(cell.text).servers)
            opened = job.call("open", text: cell.text, operation: cell.operation.name, value: cell.value.to_spec,
                                      seed: @seed, context: { servers:, folders: @scratch.folders, label: "gate" })
            return opened unless Engine::Outcome.measured?(opened)
            relays = @relays.slice(*servers.keys).values
            figures = job.call("count").merge(passing(job, relays, opened["calls"]))
            closed = job.call("close")
            Engine::Outcome.measured?(closed) ? figures : closed
          end

          # A cluster announces the addresses of its servers, so no relay can stand in front of them.
          def facts(names)
            @pool.facts(names).to_h do |name, facts|
              place = Configuration::SERVERS.include?(name) && facts["url"].to_s[PLACE]
              next [name, facts] unless place
              relay = @relays[name] ||= Network::Proxy.new(place.split(":")).start
              moved = facts.slice("address", "url").transform_values { |text| text.sub(place, relay.address) }
              [name, facts.merge(moved)]
            end
          end

          # Takes the least of several passes, because background traffic of a connection is not in all of them.
          def passing(job, relays, calls)
            return {} if relays.empty?
            passes = Array.new(PASSES) do
              before = relays.map(&:traffic)
              job.call("run")
              relays.map(&:traffic).flatten.zip(before.flatten).map { |after, earlier| after - earlier }
                    .each_slice(2).to_a.transpose.map(&:sum)
            end
            trips, bytes = passes.transpose.map { |figures| figures.min.fdiv(calls).round(2) }
            { "round_trips" => trips, "wire_bytes" => bytes }
          end
        end
      end
    end
  end
end
