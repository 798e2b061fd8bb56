# frozen_string_literal: true

require "fileutils"
require_relative "../../engine"
require_relative "../../load/app_server"

module Tiercel
  module Lab
    module Tables
      module Http
        # Requests to A, to B, and to A once more (the noise floor), in turn and back again, by fresh processes; an
        # application is started anew for each too.
        class Trial < Engine::Trial
          # One of what is asked: "A", "B" or "A again"; its URL or configuration; its row, which is filled.
          class Side
            attr_reader :id, :label, :row

            def initialize(id, label, row)
              @id = id
              @label = label
              @row = row
            end
          end

          # To start a client, or an application.
          START_SECONDS = 2.0
          # In place of the configuration: a folder of the run's own.
          FOLDER = "{folder}"

          # Rows have "blocks" (process, block, ns of each request), "first_ns", "http_status", "bytes".
          #
          # @param labels [Array<String>] two URLs, or two configurations of `app`
          # @param app [String, nil] path of a config.ru
          # @param requests [Integer] to a side in half a block
          def initialize(labels, app: nil, path: "/", any_body: false, protocol: Engine::Protocol::FULL, requests: 20,
                         seed: 1,
                         **)
            super(seed:, **)
            @sides = ["A", "B", "A again"].zip([*labels, labels.first]).map do |id, label|
              Side.new(id, label, blank(side: id, label:, blocks: [], first_ns: []))
            end
            @rows = @sides.map(&:row)
            @app = app
            @path = path
            @any_body = any_body
            @protocol = protocol
            @requests = requests
          end

          def expected_seconds = @protocol.processes * ((@app ? 4 : 1) * START_SECONDS)

          private

          def measure
            @protocol.processes.times do |process|
              run_process(process) if complete?
              @progress.advance(expected_seconds / @protocol.processes,
                                "process #{process + 1} of #{@protocol.processes}")
            end
          end

          # Comparing needs both, and their floor.
          def complete? = rows.all? { |row| measured?(row) }

          def run_process(process)
            servers = {}
            urls = @sides.to_h { |side| [side, @app ? (servers[side] = start(side)).url : side.label] }
            @client = job("tables/http/client")
            open(urls)
            run_blocks(process) if complete?
          rescue Servers::Error, WorkerLost => e
            rows.each { |row| note(row, Engine::Outcome.failure(Engine::Outcome::CANNOT_RUN, e.message.strip)) }
          ensure
            @client&.stop
            servers&.each_value(&:stop)
          end

          def start(side)
            folder = File.join(@scratch.folders["tmpfs"] || @scratch.folders.fetch("disk"), side.id.tr(" ", "-"))
            FileUtils.rm_rf(folder)
            FileUtils.mkdir_p(folder)
            Load::AppServer.new(app: @app, config: side.label.gsub(FOLDER, folder), path: @path,
                                cpu: @pinning.server_cpu).start
          end

          def open(urls)
            answers = urls.to_h { |side, url| [side, @client.call("open", id: side.id, url:)] }
            answers.each do |side, answer|
              note(side.row, answer)
              side.row["first_ns"] << answer["first_ns"] if answer["first_ns"]
              side.row.merge!(answer.slice("http_status", "bytes", "sha256"))
            end
            compare(*answers.values_at(*@sides.first(2))) if complete?
          end

          def compare(one, other)
            return if @any_body || one["sha256"] == other["sha256"]
            note(@sides[1].row, Engine::Outcome.failure(Engine::Outcome::WRONG,
                                                        "its body (#{other["bytes"]} B) is another than A's " \
                                                        "(#{one["bytes"]} B); --any-body where they have to differ"))
          end

          def run_blocks(process)
            order = in_turn(@sides, process)
            @protocol.blocks.times do |block|
              taken = Hash.new { |all, side| all[side] = [] }
              Engine::Slots.block(order, block).each { |side| taken[side].concat(ask(side)) if complete? }
              return unless complete?
              taken.each { |side, ns| side.row["blocks"] << [process, block, *ns] }
            end
          end

          def ask(side)
            answer = @client.call("ask", id: side.id, requests: @requests, any_body: @any_body)
            note(side.row, answer)
            answer.fetch("ns", [])
          end
        end
      end
    end
  end
end
