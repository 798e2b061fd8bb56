# frozen_string_literal: true

require_relative "../runner/job_process"
require_relative "../runner/pinning"
require_relative "../runner/scratch"
require_relative "../runner/slots"
require_relative "../statistics/histogram"
require_relative "app_server"

module Tiercel
  module Lab
    module Http
      # Requests to A, to B, and to A once more (the noise floor), in turn and back again, by fresh processes; an
      # application is started anew for each too.
      class Trial
        # One of what is asked.
        #
        # @!attribute id [String] "A", "B", or "A again"
        # @!attribute label [String] its URL or its configuration
        # @!attribute url [String, nil] nil: an application is started
        Side = Struct.new(:id, :label, :url, keyword_init: true)

        # To start a client, or an application.
        START_SECONDS = 2.0
        # In place of the configuration: a folder of the run's own.
        FOLDER = "{folder}"

        # @return [Array<Hash{String => Object}>] of each side: "blocks" ([process, block, ns...]), "first_ns", facts
        attr_reader :rows

        # @param labels [Array(String, String)] URLs, or configurations of the application
        # @param app [String, nil] path of a config.ru
        # @param path [String] that is asked of the application
        # @param any_body [Boolean]
        # @param protocol [Protocol]
        # @param requests [Integer] for a side in half a block
        # @param seed [Integer]
        def initialize(labels, app: nil, path: "/", any_body: false, protocol: Protocol::FULL, requests: 20, seed: 1)
          ids = ["A", "B", "A again"]
          @sides = ids.zip([*labels, labels.first]).map { |id, label| Side.new(id:, label:, url: app ? nil : label) }
          @app = app
          @path = path
          @any_body = any_body
          @protocol = protocol
          @requests = requests
          @seed = seed
          @rows = @sides.map { |side| blank(side) }
        end

        # @return [Float] without the requests, which take what they take
        def expected_seconds = @protocol.processes * ((@app ? 4 : 1) * START_SECONDS)

        # @param progress [#advance]
        # @return [void]
        def run(progress)
          @pinning = Runner::Pinning.new
          @protocol.processes.times do |process|
            run_process(process)
            progress.advance(expected_seconds / @protocol.processes, "process #{process + 1} of #{@protocol.processes}")
          end
        end

        private

        def blank(side)
          { "side" => side.id, "label" => side.label, "status" => "measured", "reason" => nil, "blocks" => [],
            "first_ns" => [] }
        end

        def row(side) = rows[@sides.index(side)]

        def running = @sides.select { |side| row(side)["status"] == "measured" }

        def run_process(process)
          scratch = Runner::Scratch.new
          servers = {}
          return unless complete?
          urls = @sides.to_h { |side| [side, side.url || (servers[side] = start(side, scratch)).url] }
          @client = Runner::JobProcess.new("http/client", pinning: @pinning).start
          open(urls)
          run_blocks(process) if complete?
        rescue Servers::Error, WorkerLost => e
          @sides.each { |side| note(side, "status" => "cannot run", "reason" => e.message.strip) }
        ensure
          @client&.stop
          servers&.each_value(&:stop)
          scratch&.remove
        end

        # Comparing needs both, and their floor.
        def complete? = running.size == @sides.size

        def start(side, scratch)
          folder = File.join(scratch.folders["tmpfs"] || scratch.folders.fetch("disk"), side.id.tr(" ", "-"))
          FileUtils.mkdir_p(folder)
          AppServer.new(app: @app, config: side.label.gsub(FOLDER, folder), path: @path, cpu: @pinning.server_cpu).start
        end

        def open(urls)
          answers = urls.to_h do |side, url|
            answer = @client.call("open", id: side.id, url:)
            note(side, answer)
            row(side)["first_ns"] << answer["first_ns"] if answer["first_ns"]
            row(side).merge!(answer.slice("http_status", "bytes", "sha256"))
            [side, answer]
          end
          compare(*answers.values_at(*@sides.first(2))) if complete?
        end

        def compare(one, other)
          return if @any_body || one["sha256"] == other["sha256"]
          note(@sides[1], "status" => "wrong values",
                          "reason" => "its body (#{other["bytes"]} B) is another than A's (#{one["bytes"]} B); " \
                                      "--any-body where they have to differ")
        end

        def run_blocks(process)
          order = Runner::Slots.order(@sides.each_index.to_a, process:, seed: @seed).map { |index| @sides[index] }
          @protocol.blocks.times do |block|
            taken = Hash.new { |all, side| all[side] = [] }
            Runner::Slots.block(order, block).each { |side| taken[side].concat(ask(side)) if complete? }
            return unless complete?
            taken.each { |side, ns| row(side)["blocks"] << [process, block, *ns] }
          end
        end

        def ask(side)
          answer = @client.call("ask", id: side.id, requests: @requests, any_body: @any_body)
          note(side, answer)
          answer.fetch("ns", [])
        end

        # The first failure stays.
        def note(side, outcome)
          if row(side)["status"] == "measured" && outcome["status"] != "measured"
            row(side).merge!(outcome.slice("status", "reason"))
          end
        end
      end
    end
  end
end
