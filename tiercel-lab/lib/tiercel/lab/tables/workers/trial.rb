# frozen_string_literal: true

require_relative "../../engine"
require_relative "../../engine/resident_memory"
require_relative "../../engine/server_cpu"
require_relative "../../servers"
require_relative "design"

module Tiercel
  module Lab
    module Tables
      module Workers
        # Measures a {Design}: for each store and number of workers, fresh workers and servers under one load.
        class Trial < Engine::Trial
          def initialize(design, **)
            super(**)
            @design = design
          end

          private

          def measure
            @design.rounds.times do |round|
              @design.configurations.shuffle(random: Random.new(@seed + round)).each do |store, count|
                facts = { "store" => store, "workers" => count, "round" => round,
                          "own" => Design::STORES.fetch(store).own }
                rows << facts.merge(configuration(store, count, round))
                @progress.advance(@design.seconds(count), "#{store}, #{count} workers")
              end
            end
          end

          def configuration(name, count, round)
            store = Design::STORES.fetch(name)
            server = start(store)
            # Workers are where the kernel puts them, as an application's are.
            workers = Array.new(count) { worker }
            measured(store, workers, server, round)
          rescue WorkerLost, Servers::Error => e
            Engine::Outcome.failure(Engine::Outcome::CANNOT_RUN, e.message.lines.first.strip)
          ensure
            workers&.each(&:stop)
            server&.stop
          end

          def worker
            job("tables/workers/load", pinning: Engine::Pinning.new(cpus: []))
          end

          # Servers of both kinds evict what was not used for longest when they are full.
          def start(store)
            bytes = @design.total_bytes - store.near_bytes(@design.total_bytes)
            case store.server
            when :memcached then Servers::Memcached.new(memory_mb: [bytes / (1024 * 1024), 1].max).start
            when :redis then Servers::Redis.new(maxmemory: bytes.to_s, policy: "allkeys-lru").start
            end
          end

          def measured(store, workers, server, round)
            pids = [*workers.map(&:pid), *server&.pid]
            failed = failure(open(store, workers, server, round)) and return failed
            empty = memory(workers, pids)
            failed = failure(ask(workers, "run", requests: @design.warm_up / workers.size)) and return failed
            server_cpu = server && Engine::ServerCPU.seconds([server.pid])
            loads = ask(workers, "measure", requests: @design.requests / workers.size, segments: @design.segments)
            server_cpu &&= Engine::ServerCPU.seconds([server.pid])&.-(server_cpu)
            failed = failure(loads) || failure(ask(workers, "settle")) and return failed
            full = Engine::ResidentMemory.bytes(pids)
            ask(workers, "close")
            { "status" => "measured", "reason" => nil, "loads" => loads.map { |load| load["segments"] },
              "server_cpu" => server_cpu, "version" => server&.version, "empty_bytes" => empty,
              "full_bytes" => full }.compact
          end

          def open(store, workers, server, round)
            label = format("%d-%02d-%02d", Process.pid, round, rows.size)
            text = located(store, label)
            each(workers, "open") do |index|
              { text:, label:, worker: index, items: @design.items, value_bytes: @design.value_bytes,
                zipf: @design.zipf,
                seed: @seed + round, context: context(store, workers.size, server, "#{label}-#{index}") }
            end
          end

          def context(store, count, server, label)
            { servers: server ? { store.server => facts(server) } : {}, folders: @scratch.folders, label:,
              capacity_bytes: store.own ? @design.total_bytes / count : @design.total_bytes }
          end

          def facts(server)
            address = server.address if server.respond_to?(:address)
            { "url" => server.url, "address" => address }.compact
          end

          # A segment and a database lie in one place for all workers.
          def located(store, label)
            disk = @scratch.folders.fetch("disk")
            near = store.near_bytes(@design.total_bytes)
            places = { tmpfs: @scratch.folders["tmpfs"] || disk, disk: }
            facts = places.to_h { |medium, folder| [medium, File.join(folder, "workers-#{label}.#{medium}")] }
            facts.update(near:, bytes: @design.total_bytes - near)
            store.text.gsub(/%<(\w+)>[sd]/) { facts.fetch($1.to_sym).to_s }
          end

          # Once they have all been built and looked at; before anything is cached.
          def memory(workers, pids)
            ask(workers, "settle")
            Engine::ResidentMemory.bytes(pids)
          end

          def ask(workers, method, **arguments) = each(workers, method) { arguments }

          # All at once; all answers are waited for.
          def each(workers, method)
            workers.each_with_index { |worker, index| worker.send_call(method, **yield(index)) }
            workers.map(&:value)
          end

          def failure(outcomes)
            outcomes.find { |outcome| outcome["status"] != "measured" }&.slice("status", "reason")
          end
        end
      end
    end
  end
end
