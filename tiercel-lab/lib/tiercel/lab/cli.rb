# frozen_string_literal: true

require_relative "../lab"

module Tiercel
  module Lab
    # The command line: picks the command, and is the last to know of an interruption.
    module CLI
      module_function

      # @param arguments [Array<String>]
      # @param out [IO]
      # @param err [IO]
      # @param program [String] how the user calls it
      # @return [Integer] exit code
      def run(arguments, out: $stdout, err: $stderr, program: ENV.fetch("TIERCEL_LAB_PROGRAM", "tiercel-lab"))
        name, rest = split(arguments)
        Commands.fetch(name).new(out:, err:, program:).call(rest)
      rescue UsageError => e
        err.puts "#{program}: #{e.message}"
        ExitCodes::USAGE
      rescue Interrupt
        ExitCodes::INTERRUPTED
      rescue Errno::EPIPE # the reader of a pipe has seen enough
        ExitCodes::OK
      end

      # @param arguments [Array<String>]
      # @return [Array(String, Array<String>)] the command's name and its arguments
      def split(arguments)
        return [Commands::DEFAULT, arguments] if arguments.empty? || arguments.first.start_with?("-")
        return ["compare", ["--help"]] if arguments.first == "help"
        [arguments.first, arguments.drop(1)]
      end
      private_class_method :split
    end
  end
end
