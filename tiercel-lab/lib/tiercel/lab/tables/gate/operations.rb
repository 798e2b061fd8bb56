# frozen_string_literal: true

require_relative "../../operations"

module Tiercel
  module Lab
    module Tables
      module Gate
        # A placeholder: benchmarks bring their own data.
        class OwnData < Value
          def initialize = super(name: "benchmark", title: "The benchmark's own data", count: 1)

          def internal? = true

          def approximate_bytes = 1

          def generate(_seed) = ["benchmark"]
        end
      end
    end

    Values.add Tables::Gate::OwnData.new

    # Calls a benchmark's block once.
    Operations.define "benchmark", "a call", kind: :benchmark, internal?: true,
                                             preamble: "block, subject = store.block, store.subject",
                                             body: "block.call(subject)" do
      def setup(_arm) = nil

      def verify(arm) = arm.store.verify
    end
  end
end
