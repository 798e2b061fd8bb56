# frozen_string_literal: true

require_relative "../report/document"
require_relative "../report/format"

module Tiercel
  module Lab
    module Answer
      # The answer in words, at the top of a report: at most {LINES} lines of {WIDTH} columns.
      class Sheet
        LINES = 24
        WIDTH = 80
        # Characters of a candidate's name.
        NAME = 50
        # Maximum number of lines about changes of the answer.
        CHANGES = 4
        CHANGES_TITLE = "What would change the answer:"
        # A part of a configuration, up to a comma outside of Strings.
        WORD = /(?:"(?:\\.|[^"\\])*"|[^",])+,?/
        # A String that needs several lines, and its part in a line.
        LONG_STRING = /"[^"\\]{61,}"/
        PART = /.{1,60}/

        # @return [Choice]
        attr_reader :choice

        # @param choice [Choice]
        # @param figures [Figures]
        # @param program [String] the name of the command, for examples
        def initialize(choice, figures, program:)
          @choice = choice
          @figures = figures
          @program = program
        end

        # @return [String] the answer in one sentence
        def sentence
          first = choice.first
          return "No store of this run suits these constraints." unless first
          if choice.shown.one? && !other_now
            return "#{name(first)} is the first choice: no other store of this run suits."
          end
          unless choice.clear?
            others = [first, *choice.tied].map { |one| name(one) }
            return "Cannot tell which is cheapest: #{listed(others)}."
          end
          "#{name(first)} is the first choice: #{compared}."
        end

        # The stores that break a constraint, with the reasons.
        #
        # @return [Array<String>]
        def left_out
          broken = choice.broken
          return [] if broken.empty?
          reasons = broken.group_by(&:last).map do |reason, all|
            "#{listed(all.map { |one, _| name(one) }, "and")} (#{reason})"
          end
          ["Left out: #{reasons.join("; ")}."]
        end

        # Leaves out the last candidates if the lines of long names need their place.
        #
        # @return [Array<String>]
        def lines
          before = [*wrapped("For #{conditions}:"), "", *wrapped(sentence)]
          after = ["", *notes.first(4).flat_map { |note| wrapped(note).first(3) }]
          others = changes.map { |change| wrapped("- #{change}") }
          among = candidates.map { |one| shown(*one) }
          size = -> { before.size + among.sum(&:size) + after.size + others.sum(&:size) + 2 }
          among.pop while among.size > 1 && size.call > LINES
          others.pop while others.size > 1 && size.call > LINES
          after.pop while after.size > 1 && size.call > LINES
          all = [*before, *among.flatten, *after, *(["", CHANGES_TITLE, *others.flatten] if others.any?)]
          all.size > LINES ? [*all.first(LINES - 1), "..."] : all
        end

        # @return [Report::Document::Answer]
        def element = Report::Document::Answer.new("For #{conditions}", sentence, candidates, notes, changes, lines)

        # @return [String] the constraints and their origin
        def conditions
          one = choice.constraints
          words = [count(one.machines, "machine"), "#{count(one.workers, "worker")}#{" each" if one.machines > 1}",
                   "#{Report::Format.bytes(one.memory_bytes)} of memory",
                   (one.survives == "nothing" ? "surviving no restart" : "surviving a #{one.survives}")]
          "#{words.join(", ")} (#{one.given.size == 4 ? "as given" : suggested(one)})"
        end

        private

        def suggested(one) = one.given.empty? ? "suggested by this machine" : "in part suggested by this machine"

        def count(number, noun) = "#{number} #{noun}#{"s" unless number == 1}"

        def listed(names, conjunction = "or")
          more = names.size - Choice::MOST
          names = [*names.first(Choice::MOST), *("#{more} more" if more.positive?)]
          return names.first if names.one?
          "#{names[..-2].join(", ")} #{conjunction} #{names.last}"
        end

        def other_now = (choice.now unless choice.now == choice.first)

        # The first choice against the application's store of now, or else against each store that suits.
        def compared
          return "#{cost(choice.first)} of cache work a page#{against}" unless other_now
          gain = choice.cost(other_now).estimate - choice.cost(choice.first).estimate
          "#{cost(choice.first)} of cache work a page, #{cost(other_now)} with #{name(other_now)} now: " \
            "#{Report::Format.duration(gain.abs / 1e6)} #{gain.negative? ? "more" : "less"}"
        end

        def against
          others = choice.suiting.drop(1).first(Choice::MOST).map { |one| "#{cost(one)} with #{name(one)}" }
          others.any? ? "; #{others.join(", ")}" : ""
        end

        # @return [Array<Array>] name, cost, memory, configuration
        def candidates
          choice.shown.map do |one|
            [name(one), "#{cost(one)} a page", memory(one), one.configuration(choice.constraints)]
          end
        end

        # An empty line, the figures (on a line of their own below a long name), and the configuration.
        def shown(name, cost, memory, configuration)
          line = format("- %-28s %-22s %s", name, cost, memory)
          lines = line.length > WIDTH ? ["- #{name}", "  #{cost}, #{memory}"] : [line.rstrip]
          ["", *lines, *(pasted(configuration) if configuration)]
        end

        # A long configuration continues on the next line after a comma, and a long String after a backslash, so that it
        # can be pasted.
        def pasted(configuration)
          configuration.scan(WORD).map(&:strip).each_with_object([]) do |word, lines|
            next lines.last << " " << word if lines.any? && lines.last.length + word.length < WIDTH
            lines << "#{lines.empty? ? "  " : "    "}#{word}"
          end.flat_map { |line| line.length > WIDTH ? parted(line) : line }
        end

        def parted(line)
          line.gsub(LONG_STRING) { |text| text[1..-2].scan(PART).map { |part| "\"#{part}\"" }.join(" \\\n    ") }
              .lines(chomp: true)
        end

        # The configuration has the whole place.
        def name(candidate)
          candidate.text.length > NAME ? "#{candidate.text[0, NAME - 1]}\u2026" : candidate.text
        end

        def cost(candidate) = Report::Format.duration(choice.cost(candidate).estimate / 1e6)

        def memory(candidate)
          return "on a server" if candidate.place.keeps == :server
          return "on the disk" if candidate.place.keeps == :disk
          pages = candidate.pages(choice.constraints)
          return "in memory" unless pages
          copies = candidate.place.reach == :process ? choice.constraints.workers : 1
          "#{Report::Format.number(pages)} pages in #{copies > 1 ? "each of #{copies} processes" : "memory"}"
        end

        def notes = [@figures.words, *(trip_words if trips?), *memory_words, *left_out]

        def memory_words
          bytes = choice.first&.page_bytes
          "With #{name(choice.first)} a page's entries take #{Report::Format.bytes(bytes)}." if bytes
        end

        def trips? = choice.constraints.machines > 1

        def trip_words
          "Computed: #{Report::Format.duration(choice.page.round_trip_us / 1e6)} for each trip to another machine; " \
            "near tiers send on one call in #{(1 / Choice::FAR_SHARE).round}."
        end

        def changes
          lines = choice.changes.first(CHANGES).map { |change| change_words(change) }
          lines.unshift("more measuring: without --quick, or with --processes N") if choice.first && !choice.clear?
          lines << "other stores: #{[@program, *choice.constraints.options].join(" ")}" unless choice.first
          lines
        end

        def change_words(change)
          given = change.constraints.given - choice.constraints.given
          with = "with #{given.flat_map { |name| change.constraints.option(name) }.join(" ")}"
          case change.state
          when :clear then "#{with}, the first choice is #{change.names.first}"
          when :tied then "#{with}, #{listed(change.names)} (cannot tell)"
          when :nothing then "#{with}, no store of the lab suits"
          else "#{with}: not measured; #{[@program, "--quick", *change.constraints.options].join(" ")}"
          end
        end

        def wrapped(text) = text.scan(/\S.{0,#{WIDTH - 1}}(?=\s|\z)|\S{#{WIDTH}}/).map(&:rstrip)
      end
    end
  end
end
