# frozen_string_literal: true

require_relative "../engine/arm"
require_relative "../engine/calibration"
require_relative "../engine/context"
require_relative "../engine/outcome"

module Tiercel
  module Lab
    module Tables
      # Builds one operation on one contestant outside of a comparison.
      module SingleArm
        # @param text [String] text of the contestant
        # @param operation [String]
        # @param value [Hash] see {Value#to_spec}
        # @param context [Hash] see {Engine::Context}
        # @param prefix [String] prefix of the entries' names
        # @param slice_ns [Integer] work between two looks at the clock
        # @return [Array(Engine::Arm, Engine::Calibration)] warmed up and verified
        # @raise [CannotRun, Missed, WrongValue]
        def self.build(text:, operation:, value:, seed:, context:, prefix:, slice_ns:)
          operation, value = Operations.fetch(operation), Values.from_spec(value)
          why = operation.unsuitable(value) and
            raise CannotRun, "#{operation.name} does not suit #{value.name}: #{why}"
          operation.enter
          arm = Engine::Arm.new(id: 0, contestant: Contestants.parse(text), operation:, value:, prefix:,
                                values: value.generate(seed).each(&:freeze),
                                context: Engine::Context.for(operation, value, **context))
          arm.prepare
          calibration = Engine::Calibration.new(arm, slice_ns:, value:)
          calibration.warm_up(nil)
          arm.verify
          [arm, calibration]
        end
      end
    end
  end
end
