# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Workers
        # Measures a {Design}: each store and number of workers has fresh workers and servers, under the same load.
        class Trial < Load::Trial
          # The number of entries verified after the load.
          SAMPLE = 200

          private

          def measure
            @design.rounds.times do |round|
              in_order(round).each do |name, count|
                store = Design::STORES.fetch(name)
                facts = { "store" => name, "workers" => count, "round" => round, "own" => store.own }
                rows << facts.merge(attempt { configuration(store, count, round) })
                @progress.advance(@design.seconds(count), "#{name}, #{count} workers")
              end
            end
          end

          # The most workers come first, so that an interrupted run has something to compare.
          def in_order(round)
            @design.configurations.shuffle(random: Random.new(@seed + round)).sort_by { |_name, count| -count }
          end

          def configuration(store, count, round)
            bytes = @design.total_bytes - store.near_bytes(@design.total_bytes)
            server = Load::CacheServer.start(store.server, bytes:)
            with_fleet(count) do |workers|
              open(workers, store, server, round)
              loaded(workers, [*workers.pids, *server&.pid], server).merge(version: server&.version).compact
            end
          ensure
            server&.stop
          end

          # All workers request the same names.
          def open(workers, store, server, round)
            label = label(round, rows.size)
            seed = @seed + round
            entries = { label:, items: @design.items, bytes: @design.value_bytes, seed: }
            workers.open(text: located(store, label), entries:) do |index|
              { keys: { kind: "zipf", exponent: @design.zipf, seed: (seed * 1_000) + index },
                context: context(store, workers.size, server, "#{label}-#{index}") }
            end
          end

          # @return [Hash{Symbol => Object}] the load of a row
          def loaded(workers, pids, server)
            empty_bytes = settled(workers, pids)
            drive(workers, @design.warm_up)
            cpu = server && Engine::ServerCPU.seconds([server.pid])
            loads = drive(workers, @design.requests, slices: @design.segments).map { |answer| answer["slices"] }
            cpu &&= Engine::ServerCPU.seconds([server.pid])&.-(cpu)
            { loads:, server_cpu: cpu, empty_bytes:, full_bytes: settled(workers, pids) }
          end

          # @param requests [Integer] number of requests of all workers and slices together
          def drive(workers, requests, slices: nil)
            arrivals = { requests: requests / workers.size / (slices || 1) }
            workers.call("drive", operation: "read_or_write", must_hit: false, arrivals:, slices:)
          end

          # Verifies values, then measures the memory.
          def settled(workers, pids)
            workers.call("verify", sample: SAMPLE, must: false)
            Engine::ResidentMemory.bytes(pids)
          end

          def context(store, count, server, label)
            { servers: server ? { store.server => Load::CacheServer.facts(server) } : {},
              folders: @scratch.folders, label:,
              capacity_bytes: store.own ? @design.total_bytes / count : @design.total_bytes }
          end

          # All workers share the place of a segment or a database.
          def located(store, label)
            disk = @scratch.folders.fetch("disk")
            near = store.near_bytes(@design.total_bytes)
            places = { tmpfs: @scratch.folders["tmpfs"] || disk, disk: }
            facts = places.to_h { |medium, folder| [medium, File.join(folder, "workers-#{label}.#{medium}")] }
            facts.update(near:, bytes: @design.total_bytes - near)
            store.text.gsub(/%<(\w+)>[sd]/) { facts.fetch($1.to_sym).to_s }
          end
        end
      end
    end
  end
end
