# frozen_string_literal: true

require "json"
require_relative "../contestants"
require_relative "../operations"
require_relative "../values"
require_relative "arm"
require_relative "calibration"
require_relative "context"
require_relative "stopwatch"

module Tiercel
  module Lab
    module Runner
      # The worker's side: answers one JSON line for each it is given, until there are no more.
      #
      # Requests: "hello"; "open" (build, fill, warm up, verify, calibrate the
      # arms of a comparison); "block" (GC.start); "pass" (one slice of each
      # arm named); "close" (verify again, tear down).
      class Worker
        # @param input [IO]
        # @param output [IO]
        def initialize(input, output)
          @input = input
          @output = output
          @objects = {}
          @digests = {}
        end

        # @return [void]
        def serve
          while (line = @input.gets)
            @output.puts(JSON.generate(answer(JSON.parse(line))))
            @output.flush
          end
        end

        private

        def answer(request)
          case request.fetch("do")
          when "hello" then hello
          when "open" then open(request)
          when "block" then collect
          when "pass" then { "slices" => request["order"].map { |id| slice(id, request["calls"].fetch(id.to_s)) } }
          when "close" then close
          end
        rescue StandardError, NotImplementedError => e
          { "error" => "#{e.class}: #{e.message}", "at" => e.backtrace&.first }
        end

        def hello
          { "pid" => Process.pid, "ruby" => RUBY_DESCRIPTION,
            "yjit" => defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false,
            "gems" => Gem.loaded_specs.transform_values { |spec| spec.version.to_s }.sort.to_h }
        end

        def open(request)
          @value = Values.from_spec(request.fetch("value"))
          @slice_ns = request.fetch("slice_ns")
          objects = objects_of(@value, request.fetch("seed"))
          @arms = {}
          specs = request.fetch("arms")
          @entered = specs.map { |spec| Operations.fetch(spec["operation"]) }.uniq(&:name).each(&:enter)
          built = specs.map { |spec| [spec, attempt { build(spec, objects, request) }] }
          answers = built.map { |spec, outcome| ready(spec, outcome) }
          @sound = answers.select { |answer| answer["status"] == "ready" }.map { |answer| answer["id"] }
          { "arms" => answers, "digest" => @digests.fetch(@value.name) }
        end

        # Values are made once for all comparisons of this worker.
        def objects_of(value, seed)
          @objects[[value.name, seed]] ||= value.generate(seed).each(&:freeze).tap do |all|
            @digests[value.name] = value.digest(all)
          end
        end

        def build(spec, objects, request)
          contestant = Contestants.parse(spec["text"])
          operation = Operations.fetch(spec["operation"])
          unless contestant.kind == operation.kind
            raise CannotRun, "#{operation.name} works on a #{operation.kind}, this is a #{contestant.kind}"
          end
          label = "#{request["label"]}-#{spec["id"]}"
          context = Context.new(servers: request["servers"], folders: request["folders"], label:,
                                capacity_bytes: operation.capacity_bytes,
                                written_bytes: @value.approximate_bytes * operation.names_for(@value))
          arm = Arm.new(id: spec["id"], contestant:, operation:, value: @value, values: objects,
                        prefix: format("tiercel-lab:%s:%03d", request["label"], spec["id"]), context:)
          @arms[spec["id"]] = arm
          arm.prepare
        end

        def ready(spec, outcome)
          arm = @arms[spec["id"]]
          return outcome.merge("id" => spec["id"]) unless outcome["status"] == "ready"
          facts = attempt { prepare_facts(arm, spec) }
          facts.merge("id" => spec["id"])
        end

        def prepare_facts(arm, spec)
          calibration = Calibration.new(arm, slice_ns: @slice_ns, value: @value)
          warm_up = calibration.warm_up(spec["warm_up"])
          calls = spec["calls"] || calibration.calls
          arm.verify
          facts = { "warm_up" => warm_up, "calls" => calls }
          return facts unless spec["exact"]
          facts.merge("allocations" => arm.allocations, "stored_bytes" => stored_bytes(arm))
        end

        # Not every store lets us see; the figure is then left out, the cell is not.
        def stored_bytes(arm)
          arm.stored_bytes
        rescue StandardError
          nil
        end

        def collect
          GC.start
          { "collections" => GC.count }
        end

        def slice(id, calls)
          arm = @arms.fetch(id)
          arm.operation.prepared? ? arm.operation.before_slice(arm, calls) : arm.run((calls * Protocol::LEAD_IN).floor)
          before = arm.server_seconds
          figures = Stopwatch.time { arm.run(calls) }
          [id, calls, *figures, *(((arm.server_seconds - before) * 1e9).round if before)]
        end

        def close
          outcomes = @sound.map { |id| attempt { @arms[id].verify }.merge("id" => id) }
          @arms.each_value { |arm| attempt { arm.tear_down } }
          @entered.each(&:leave)
          @arms = {}
          { "arms" => outcomes }
        end

        # @return [Hash] status "ready" with the block's facts, or why not
        def attempt
          facts = yield
          facts.is_a?(Hash) ? facts.merge("status" => "ready") : { "status" => "ready" }
        rescue Missed => e
          { "status" => "misses", "reason" => e.message }
        rescue WrongValue => e
          { "status" => "wrong values", "reason" => e.message }
        rescue CannotRun => e
          { "status" => "cannot run", "reason" => e.message }
        rescue StandardError, ScriptError => e
          { "status" => "cannot run", "reason" => "#{e.class}: #{e.message.lines.first.to_s.strip}",
            "at" => e.backtrace&.first.to_s }
        end
      end
    end
  end
end
