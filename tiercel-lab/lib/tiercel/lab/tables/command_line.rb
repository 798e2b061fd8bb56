# frozen_string_literal: true

require "shellwords"

module Tiercel
  module Lab
    module Tables
      # The words of a run's command line that the command of a single table repeats.
      module CommandLine
        FLAGS = %w[--quick].freeze
        WITH_ARGUMENT = %w[--seed --data --require --url].freeze

        module_function

        # @param results [Hash{String => Object}]
        # @return [Array<String>] quoted for a shell
        def shared(results)
          arguments = results["run"]["arguments"]
          arguments.each_with_index.flat_map { |word, index|
            name, joined = word.split("=", 2)
            next [word] if FLAGS.include?(word) || (joined && WITH_ARGUMENT.include?(name))
            WITH_ARGUMENT.include?(word) ? [word, arguments[index + 1]].compact : []
          }.map { |word| quote(word) }
        end

        # @param word [String]
        # @return [String] as a shell takes it, in the quotes that people use
        def quote(word)
          return word if word.match?(%r{\A[\w.,:@/=+-]+\z})
          word.include?("'") ? Shellwords.escape(word) : "'#{word}'"
        end
      end
    end
  end
end
