# frozen_string_literal: true

require_relative "../tables"
require_relative "command"

module Tiercel
  module Lab
    module CLI
      # `help`, `help COMMAND` and `help TOPIC`.
      class Help < Command
        FACTS = Facts.new(name: "help", summary: "Lists the commands, or shows the options of one.", groups: [],
                          examples: ["help", "help sizes", "help stores"])
        # Commands by purpose, with one example for each group.
        GROUPS = {
          "Which store" => [%w[compare switch all capabilities app http boot],
                            "compare --quick --machines 2 --workers 4"],
          "What a call costs" => [%w[sizes cold client sqlite latency herd],
                                  "sizes --quick --size 2KB,100KB"],
          "What a value costs" => [%w[serializers compressors end-to-end],
                                   "serializers --quick --value rows-50"],
          "Changes over time" => [%w[gate history init profile], "gate --base main"],
          "The lab itself" => [%w[help report selfcheck], "report RESULTS.jsonl --html report.html"]
        }.freeze
        # Lists of names for options.
        TOPICS = {
          "stores" => -> { Contestants.shown.to_h { |name| [name, ""] } },
          "operations" => -> { described(Operations) { |operation| "#{operation.phrase}: #{operation.body}" } },
          "values" => -> { described(Values, &:title) },
          "serializers" => -> { described(Serialization) { |library| library.feature.to_s } },
          "compressors" => -> { described(Compression) { |library| library.feature.to_s } }
        }.freeze

        def facts = FACTS

        def perform
          return everything unless @about
          return topic if TOPICS.key?(@about)
          CLI.command(@about, out:, err:, program: @program).call(["--help"])
        end

        private

        def usage = command_line(name, "[COMMAND|TOPIC]")

        def accept(rest)
          raise UsageError, "help #{rest.join(" ")}: expected one word" if rest.size > 1
          @about = rest.first
          known = CLI.names + TOPICS.keys
          return if @about.nil? || known.include?(@about)
          raise UsageError, Catalogue.unknown("command or topic", @about, known)
        end

        def everything
          out.puts "Usage: #{@program} [COMMAND] [options]", "", "Without a command: #{Tables::DEFAULT}.", ""
          GROUPS.each { |title, (names, example)| group("#{title}, such as: #{command_line(example)}", names) }
          others = CLI.names - GROUPS.values.flat_map(&:first)
          group("Your tables", others) if others.any?
          out.puts "Options of a command: #{@program} help COMMAND",
                   "Names for options:    #{@program} help #{TOPICS.keys.first(4).join("|")}|",
                   "                      #{TOPICS.keys.drop(4).join("|")}", "", "Exit codes:"
          ExitCodes::MEANINGS.each { |code, text| out.puts format("  %3d  %s", code, text) }
          ExitCodes::OK
        end

        def group(title, names)
          out.puts title
          list(names.to_h { |name| [name, CLI.command(name, out:, err:, program: @program).facts.summary] })
          out.puts
        end

        def described(catalogue) = catalogue.shown.to_h { |name| [name, yield(catalogue.fetch(name))] }

        def topic
          list(instance_exec(&TOPICS.fetch(@about)))
          ExitCodes::OK
        end

        # Cuts long summaries to one line; the command's own help has the whole text.
        def list(words)
          width = words.keys.map(&:length).max
          room = Parser::WIDTH - width - 4
          words.each do |name, text|
            text = "#{text[0, room - 1].rstrip}\u2026" if text.length > room
            out.puts "  #{name.ljust(width)}  #{text}".rstrip
          end
        end
      end
    end
  end
end
