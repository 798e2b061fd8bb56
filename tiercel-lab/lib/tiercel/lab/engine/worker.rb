# frozen_string_literal: true

require_relative "../operations"
require_relative "../stores"
require_relative "../values"
require_relative "arm_process"
require_relative "timed_arm"

module Tiercel
  module Lab
    module Engine
      # The worker process of a {Round}. It loads gems, makes the values once for all arms, and forks an {ArmProcess}
      # for each arm of a comparison.
      class Worker
        # @return [Array<IO>] pipes to the parent
        attr_writer :pipes

        def initialize
          @objects = {}
          @digests = {}
          @arms = {}
          @pipes = []
        end

        # Describes the Ruby of this process.
        def hello
          { "pid" => Process.pid, "ruby" => RUBY_DESCRIPTION,
            "yjit" => defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false,
            "gems" => Gem.loaded_specs.transform_values { |spec| spec.version.to_s }.sort.to_h }
        end

        # Opens the arms of a comparison, see {TimedArm#open}.
        #
        # @param value [Hash] see {Value#to_spec}
        # @param label [String] distinguishes the keys and folders of this round
        # @param arms [Array<Hash>] see {TimedArm#initialize}
        # @return [Hash{String => Object}] an outcome for each arm, and the SHA-256 of the values
        def open(value:, seed:, slice_ns:, label:, servers:, folders:, arms:)
          value = Values.from_spec(value)
          shared = { value:, objects: objects_of(value, seed), place: { servers:, folders:, label: }, slice_ns: }
          arms.each { |spec| load_gems(spec) }
          age_objects
          answers = arms.map { |spec| open_arm(spec, shared).merge("id" => spec[:id]) }
          { "arms" => answers, "digest" => @digests.fetch(value.name) }
        end

        # @param arms [Array<Array(Integer, Integer)>] id and calls
        # @return [Array<Array<Integer>>] one slice of each arm, see {Cell::Slice}
        def pass(arms:) = arms.map { |id, calls| [id, *@arms.fetch(id).call(:slice, calls)] }

        # Verifies the arms again and ends their processes.
        def close
          @arms.map { |id, arm| Outcome.of { arm.call(:close) }.merge("id" => id) }
        ensure
          @arms.each_value(&:stop)
          @arms = {}
        end

        private

        # Makes the values once for all comparisons of this worker.
        def objects_of(value, seed)
          @objects[[value.name, seed]] ||= value.generate(seed).each(&:freeze).tap do |all|
            @digests[value.name] = value.digest(all)
          end
        end

        # Loads what the arms would load themselves. Ignores failures here: each arm reports its own.
        def load_gems(spec)
          features = $LOADED_FEATURES.size
          Contestants.parse(spec[:text]).load_gems
        rescue StandardError
          nil
        ensure
          @aged = nil if $LOADED_FEATURES.size != features
        end

        # Makes existing objects old before the fork, so that no arm marks them again.
        def age_objects
          @aged ||= Process.respond_to?(:warmup) ? Process.warmup : GC.start
        end

        def open_arm(spec, shared)
          process = ArmProcess.new(@pipes + @arms.each_value.flat_map(&:pipes)) { TimedArm.new(spec, **shared) }
          outcome = Outcome.of { process.call(:open) }
          Outcome.measured?(outcome) ? @arms[spec[:id]] = process : process.stop
          outcome
        end
      end
    end
  end
end
