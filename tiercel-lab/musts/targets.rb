# frozen_string_literal: true

require "tiercel/lab/catalogue"
require_relative "target"

module Tiercel
  module Lab
    module Tables
      module Musts
        # All targets of the project; `targets/` has a file for each topic.
        module Targets
          extend Catalogue

          class << self
            def noun = "target"

            # @see Target::Ratio#initialize
            def ratio(id, text, **) = add(Target::Ratio.new(id:, text:, **))

            # @see Target::Reported#initialize
            def reported(id, text, **) = add(Target::Reported.new(id:, text:, **))

            # @see Target::Floor#initialize
            def floor(id, text, **) = add(Target::Floor.new(id:, text:, **))

            # @see Target::Kept#initialize
            def kept(id, text, **) = add(Target::Kept.new(id:, text:, **))

            # @see Target::Elsewhere#initialize
            def elsewhere(id, text, command:) = add(Target::Elsewhere.new(id:, text:, command:))
          end

          Dir[File.join(__dir__, "targets", "*.rb")].sort.each { |file| require file }
        end
      end
    end
  end
end
