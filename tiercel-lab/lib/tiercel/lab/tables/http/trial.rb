# frozen_string_literal: true

require "fileutils"
require_relative "../../load/app_server"

module Tiercel
  module Lab
    module Tables
      module Http
        # Sends requests to A, to B, and to A again (for the noise floor), in turn and in reverse. Each process is fresh
        # and starts its own applications.
        class Trial < Engine::Trial
          # A side: "A", "B" or "A again"; its URL or configuration; its row; and the URL of its page in this process.
          Side = Struct.new(:id, :label, :row, :url)

          # Starting a client or an application.
          START_SECONDS = 2.0
          # A configuration contains this word in place of a folder of the run.
          FOLDER = "{folder}"

          # Rows have "blocks" (process, block, ns of each request), "first_ns", "http_status", "bytes".
          #
          # @param labels [Array<String>] two URLs, or two configurations of `app`
          # @param app [String, nil] path of a config.ru
          # @param requests [Integer] number of requests to a side in half a block
          def initialize(labels, app: nil, path: "/", any_body: false, protocol: Engine::Protocol::FULL, requests: 20,
                         seed: 1, **)
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

          # A comparison needs both sides and the noise floor.
          def complete? = rows.all? { |row| measured?(row) }

          def run_process(process)
            servers = []
            @sides.each { |side| side.url = @app ? servers.push(start(side)).last.url : side.label }
            @client = job("load/pages")
            open
            run_blocks(process) if complete?
          rescue Servers::Error, WorkerLost => e
            rows.each { |row| note(row, Engine::Outcome.failure(Engine::Outcome::CANNOT_RUN, e.message.strip)) }
          ensure
            @client&.stop
            servers&.each(&:stop)
          end

          def start(side)
            folder = File.join(@scratch.folders["tmpfs"] || @scratch.folders.fetch("disk"), side.id.tr(" ", "-"))
            FileUtils.rm_rf(folder)
            FileUtils.mkdir_p(folder)
            Load::AppServer.new(app: @app, config: side.label.gsub(FOLDER, folder), path: @path,
                                cpu: @pinning.server_cpu).start
          end

          def open
            @sides.each do |side|
              answer = @client.call("open", id: side.id, url: side.url)
              note(side.row, answer)
              side.row["first_ns"].concat(answer["ns"].to_a)
              side.row.merge!(answer.slice("http_status", "bytes", "sha256"))
            end
            compare(*@sides.first(2).map(&:row)) if complete?
          end

          def compare(one, other)
            return if @any_body || one["sha256"] == other["sha256"]
            note(other, Engine::Outcome.failure(Engine::Outcome::WRONG,
                                                "its body (#{other["bytes"]} B) is another than A's " \
                                                "(#{one["bytes"]} B); --any-body where they have to differ"))
          end

          def run_blocks(process)
            order = in_turn(@sides, process)
            @protocol.blocks.times do |block|
              taken = Hash.new { |all, side| all[side] = [] }.compare_by_identity
              Engine::Slots.block(order, block).each { |side| taken[side].concat(ask(side)) if complete? }
              return unless complete?
              taken.each { |side, ns| side.row["blocks"] << [process, block, *ns] }
            end
          end

          def ask(side)
            sha256 = side.row["sha256"] unless @any_body
            answer = @client.call("ask", id: side.id, url: side.url, requests: @requests, sha256:)
            answer["reason"] &&= "#{answer["reason"]}; --any-body where bodies have to differ" if sha256
            note(side.row, answer)
            answer.fetch("ns", [])
          end
        end
      end
    end
  end
end
