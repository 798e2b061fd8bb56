# frozen_string_literal: true

require "fileutils"

module Tiercel
  module Lab
    module Tables
      module App
        # Runs an application for every store, all at the same time, and sends them requests in turn, alternately in
        # forward and in reverse order. The first store has a second application, for the noise floor.
        class Trial < Engine::Trial
          START_SECONDS = 4.0
          REQUEST_SECONDS = 0.006
          # The name of the second application of the first store ends with it.
          AGAIN = " again"
          # Requests over each connection before the measurement: YJIT compiles at the 30th call, and there are two
          # workers.
          WARM_UP = 80

          # Rows have "store", "path", "blocks" (process, block, seconds, CPU ns of the application, CPU ns of the cache
          # server, ns of each request).
          #
          # @param stores [Array<String>] some of {Design::STORES}
          # @param pages [Array<String>] some of {Design::PAGES}
          # @param requests [Integer] number of requests to a store in half a block
          # @param connections [Integer]
          # @param incidents [Array<String>] some of {Load::Application::INCIDENTS}
          # @param line [String] release line of Rails
          def initialize(stores, pages:, protocol:, requests:, connections: 4, incidents: [], line: "8.1", **)
            super(**)
            @sides = [*stores, "#{stores.first}#{AGAIN}"]
            @pages = pages
            @protocol = protocol
            @requests = requests
            @connections = connections
            @incidents = incidents
            @line = line
            @by_side = @sides.product(pages).to_h do |side, path|
              [[side, path], blank(store: side, path:, blocks: [], bytes: nil)]
            end
            @rows = @by_side.values
          end

          # @return [Array<Hash>] memory of the applications: "store", "process", "bytes", "server_bytes"
          attr_reader :memory
          # @return [Array<Hash>] "store", "incident", "failed", "slowest_ns", "ns"
          attr_reader :incident_rows

          def expected_seconds
            slots = @protocol.processes * @protocol.blocks * 2 * @rows.size
            warm_up = @protocol.processes * @rows.size * WARM_UP * REQUEST_SECONDS
            (@protocol.processes * @sides.size * START_SECONDS) + warm_up + (slots * @requests * REQUEST_SECONDS)
          end

          private

          def measure
            @memory, @incident_rows = [], []
            prepare
            @protocol.processes.times do |process|
              run_process(process)
              @progress.advance(expected_seconds / @protocol.processes, "round #{process + 1}")
            end
          end

          # All applications run from one copy; their environments differ.
          def prepare
            folder = File.join(@scratch.folders.fetch("disk"), "shop")
            @shop = Engine::Shop.new(folder, line: @line)
            @shop.bundle.install(progress: @progress)
            @shop.copy.prepare
          end

          def run_process(process)
            @client = job("load/pages", pinning: Engine::Pinning.new(cpus: []))
            sites = in_turn(@sides, process).to_h { |side| [side, start(side)] }.compact
            warm_up(sites)
            @protocol.blocks.times { |block| run_block(sites, process, block) }
            keep_memory(sites, process)
            sites.each { |side, site| run_incidents(side, site) unless side.end_with?(AGAIN) }
          ensure
            @client&.stop
            sites&.each_value(&:stop)
          end

          # @return [Load::Application, nil]
          def start(side)
            Load::Application.new(@shop, Design::STORES.fetch(side.delete_suffix(AGAIN)), folders(side)).start
          rescue Servers::Error => error
            reason = error.message.lines.first(2).join.strip
            fail_side(side, Engine::Outcome.failure(Engine::Outcome::CANNOT_RUN, reason))
          end

          def folders(side)
            { "memory" => "tmpfs", "disk" => "disk" }.to_h do |name, medium|
              folder = File.join(@scratch.folders[medium] || @scratch.folders.fetch("disk"), side.gsub(/\W/, "-"))
              FileUtils.rm_rf(folder)
              FileUtils.mkdir_p(folder)
              [name.to_sym, folder]
            end
          end

          def fail_side(side, outcome)
            @pages.each { |path| note(@by_side[[side, path]], outcome) }
            nil
          end

          # All bodies of a page must equal the first one. An application without a cache renders the page each time.
          def warm_up(sites)
            @digests ||= {}
            sites.each do |side, site|
              @pages.each do |path|
                answer = ask(site, path, WARM_UP * @connections)
                row = @by_side[[side, path]]
                note(row, answer)
                row["bytes"] ||= answer["bytes"]
                @digests[path] ||= answer["sha256"] unless Design::COUNTED.include?(path)
              end
            end
          end

          def ask(site, path, requests)
            @client.call("ask", url: site.url, path:, requests:, connections: @connections, sha256: @digests[path])
          end

          def run_block(sites, process, block)
            @pages.each do |path|
              Engine::Slots.block(sites.keys, block).each_with_object({}) do |side, taken|
                row = @by_side[[side, path]]
                next unless measured?(row)
                answer, cpu, server_cpu = sites[side].counted { ask(sites[side], path, @requests) }
                note(row, answer)
                next unless measured?(row)
                mine = taken[side] ||= [process, block, 0.0, 0, 0].tap { |one| row["blocks"] << one }
                add(mine, answer, cpu, server_cpu)
              end
            end
          end

          def add(taken, answer, cpu, server_cpu)
            taken[2] += answer["seconds"]
            taken[3] += (cpu * 1e9).round
            taken[4] += (server_cpu * 1e9).round
            taken.concat(answer["ns"])
          end

          def keep_memory(sites, process)
            sites.each { |side, site| @memory << { "store" => side, "process" => process, **site.memory } }
          end

          def run_incidents(side, site)
            path = @pages.first
            @incidents.each do |incident|
              next unless site.suffers?(incident)
              @client.send_call("ask", url: site.url, path:, requests: @requests * 8, connections: @connections,
                                       failures: true)
              site.public_send(incident)
              answer = @client.value
              @incident_rows << { "store" => side, "incident" => incident, **answer.slice("status", "reason", "failed"),
                                  "ns" => answer["ns"].to_a }
              site.recover(incident)
            end
          end
        end
      end
    end
  end
end
