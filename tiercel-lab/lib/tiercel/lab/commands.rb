# frozen_string_literal: true

require_relative "catalogue"
require_relative "command"
require_relative "table_command"

module Tiercel
  module Lab
    # The commands, by name; each is a file in `commands/`.
    module Commands
      extend Catalogue

      # What runs when no command is named.
      DEFAULT = "compare"

      def self.noun = "command"

      Dir[File.join(__dir__, "commands", "*.rb")].sort.each { |file| require file }
    end
  end
end
