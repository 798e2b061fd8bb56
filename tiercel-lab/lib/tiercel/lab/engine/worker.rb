# frozen_string_literal: true

require_relative "../operations"
require_relative "../stores"
require_relative "../values"
require_relative "arm"
require_relative "calibration"
require_relative "context"
require_relative "outcome"
require_relative "protocol"
require_relative "stopwatch"

module Tiercel
  module Lab
    module Engine
      # The worker's side of a {Round}, in a {Job}: the arms of one comparison after the other.
      class Worker
        def initialize
          @objects = {}
          @digests = {}
        end

        # Of what it runs with.
        def hello
          { "pid" => Process.pid, "ruby" => RUBY_DESCRIPTION,
            "yjit" => defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false,
            "gems" => Gem.loaded_specs.transform_values { |spec| spec.version.to_s }.sort.to_h }
        end

        # Builds, fills, warms up, verifies and calibrates the arms of a comparison.
        #
        # @param value [Hash] see {Value#to_spec}
        # @param label [String] distinguishes names and folders from those of others
        # @param arms [Array<Hash>] id, text, operation; calls and warm_up as an earlier process found them; exact:
        #   whether objects and bytes are to be counted
        # @return [Hash{String => Object}] an outcome for each arm, and the SHA-256 of the value's objects
        def open(value:, seed:, slice_ns:, label:, servers:, folders:, arms:)
          @value = Values.from_spec(value)
          @slice_ns = slice_ns
          @place = { servers:, folders:, label: }
          objects = objects_of(seed)
          @arms = {}
          @entered = arms.map { |spec| Operations.fetch(spec[:operation]) }.uniq(&:name).each(&:enter)
          built = arms.map { |spec| [spec, Outcome.of { build(spec, objects) }] }
          answers = built.map { |spec, outcome| ready(spec, outcome).merge("id" => spec[:id]) }
          @sound = answers.select { |answer| Outcome.measured?(answer) }.map { |answer| answer["id"] }
          { "arms" => answers, "digest" => @digests.fetch(@value.name) }
        end

        # Before a block.
        def collect
          GC.start
          GC.count
        end

        # @param arms [Array<Array(Integer, Integer)>] id and calls
        # @return [Array<Array<Integer>>] a slice of each, see {Cell::Slice}
        def pass(arms:) = arms.map { |id, calls| slice(id, calls) }

        # Verifies again, and tears down.
        def close
          outcomes = @sound.map { |id| Outcome.of { @arms[id].verify }.merge("id" => id) }
          @arms.each_value { |arm| Outcome.of { arm.tear_down } }
          @entered.each(&:leave)
          @arms = {}
          outcomes
        end

        private

        # Values are made once for all comparisons of this worker.
        def objects_of(seed)
          @objects[[@value.name, seed]] ||= @value.generate(seed).each(&:freeze).tap do |all|
            @digests[@value.name] = @value.digest(all)
          end
        end

        def build(spec, objects)
          contestant = Contestants.parse(spec[:text])
          operation = Operations.fetch(spec[:operation])
          context = Context.for(operation, @value, **@place, label: "#{@place[:label]}-#{spec[:id]}")
          arm = Arm.new(id: spec[:id], contestant:, operation:, value: @value, values: objects, context:,
                        prefix: format("tiercel-lab:%s:%03d", @place[:label], spec[:id]))
          @arms[spec[:id]] = arm
          arm.prepare
        end

        def ready(spec, outcome)
          Outcome.measured?(outcome) ? Outcome.of { facts(@arms[spec[:id]], spec) } : outcome
        end

        def facts(arm, spec)
          calibration = Calibration.new(arm, slice_ns: @slice_ns, value: @value)
          warm_up = calibration.warm_up(spec[:warm_up])
          calls = spec[:calls] || calibration.calls
          arm.verify
          facts = { "warm_up" => warm_up, "calls" => calls }
          facts.merge!("allocations" => arm.allocations, "stored_bytes" => stored_bytes(arm)) if spec[:exact]
          facts
        end

        # Not every store lets us see; the figure is then left out, the cell is not.
        def stored_bytes(arm)
          arm.stored_bytes
        rescue StandardError
          nil
        end

        def slice(id, calls)
          arm = @arms.fetch(id)
          arm.operation.prepared? ? arm.operation.before_slice(arm, calls) : arm.run((calls * Protocol::LEAD_IN).floor)
          before = arm.server_seconds
          figures = Stopwatch.time { arm.run(calls) }
          [id, calls, *figures, *(((arm.server_seconds - before) * 1e9).round if before)]
        end
      end
    end
  end
end
