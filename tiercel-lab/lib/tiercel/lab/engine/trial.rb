# frozen_string_literal: true

require_relative "bundle"
require_relative "job"
require_relative "outcome"
require_relative "pinning"
require_relative "scratch"
require_relative "server_pool"
require_relative "slots"

module Tiercel
  module Lab
    module Engine
      # A measurement without slices. A trial starts servers, folders and processes of its own and fills rows that have
      # a status.
      #
      # @abstract Subclasses implement {#measure}, and fill {#rows}.
      class Trial
        # @return [Array<Hash{String => Object}>] a row has "status" and "reason", and figures
        attr_reader :rows

        # @param design [Object, nil] the plan of the measurement
        # @param requires [Array<String>] files with contestants of the user's
        def initialize(design = nil, seed:, requires: [], pinning: Pinning.new)
          @design = design
          @seed = seed
          @requires = requires
          @pinning = pinning
          @rows = []
        end

        # @param progress [#advance, #say]
        def run(progress)
          @progress = progress
          @pool = ServerPool.new(pinning: @pinning)
          @scratch = Scratch.new
          measure
        ensure
          @servers = @pool&.describe
          @pool&.stop
          @scratch&.remove
        end

        # @return [Array<Hash>] the started servers, after {#run}
        def servers = @servers || []

        private

        def measure = raise(NotImplementedError)

        # @return [Job] started
        # @raise [CannotRun] if its bundle cannot be installed
        def job(path, bundle: nil, pinning: @pinning)
          bundle = Bundle.new(bundle) unless bundle.is_a?(Bundle)
          bundle.install(progress: @progress)
          Job.new(path, bundle:, pinning:, requires: @requires).start
        end

        def blank(**facts) = facts.transform_keys(&:to_s).merge("status" => Outcome::MEASURED, "reason" => nil)

        def measured?(row) = Outcome.measured?(row)

        def note(row, outcome) = Outcome.note(row, outcome)

        # Every second process reverses the order of the process before.
        def in_turn(list, process)
          Slots.order(list.each_index.to_a, process:, seed: @seed).map { |index| list[index] }
        end
      end
    end
  end
end
