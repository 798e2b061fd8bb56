# frozen_string_literal: true

module Tiercel::Lab
  # The answer to "which store should I use?". The answer has the application's {Constraints}, {Candidate}s with the
  # {Figures} of a run, the {Choice} among them, and the {Sheet} at the top of a report.
  module Answer
    Tiercel::Lab.declare self, "answer/candidate" => %i[Candidate Constraints Memory Now Page Place]

    # @param results [Hash{String => Object}] results of a run that measured stores
    # @param constraints [Hash{String => Object}, nil] from the run's results
    # @param program [String] the name of the command, for examples
    # @return [Sheet, nil] nil if the run has no figures for an answer
    def self.of(results, constraints, program:)
      page = Page.from(results["page"])
      figures = Figures.new(results, page)
      return if figures.candidates.empty?
      constraints = Constraints.from(constraints) if constraints
      constraints ||= Constraints.suggested(results["environment"])
      choice = Choice.new(figures.candidates, constraints, equality: figures.equality?, page:, now: results["now"])
      Sheet.new(choice, figures, program:)
    end

    # Chooses the store with the cheapest page among the candidates that meet all constraints. This class only decides:
    # it does not read, measure or print.
    class Choice
      # Maximum number of candidates that an answer shows.
      MOST = 3
      # Assumed share of calls that reach the last tier: misses, and their writes.
      FAR_SHARE = 0.1
      # Constraints for which the answer says how it would change.
      OTHERS = [{ workers: 1, machines: 1 }, { machines: 2 }, { survives: "restart" }, { survives: "reboot" }].freeze

      # @return [Constraints]
      attr_reader :constraints
      # @return [Page]
      attr_reader :page

      # @param candidates [Array<Candidate>]
      # @param constraints [Constraints]
      # @param equality [Boolean] whether two costs can be found equal
      # @param page [Page]
      # @param now [String, nil] text of the store that the application has now
      def initialize(candidates, constraints, equality: true, page: Page::ASSUMED, now: nil)
        @page = page
        @now = now
        @candidates = candidates
        @constraints = constraints
        @equality = equality
      end

      # @return [Array<Candidate>] candidates that meet all constraints, the cheapest first
      def suiting
        @suiting ||= @candidates.reject { |one| broken.key?(one) }.sort_by { |one| cost(one).estimate }
      end

      # @return [Candidate, nil] the first choice; nil if every candidate breaks a constraint
      def first = suiting.first

      # @return [Array<Candidate>] the first choice and the next ones, at most {MOST}
      def shown = suiting.first(MOST)

      # @return [Array<Candidate>] other candidates whose difference from the first choice is undecided
      def tied = suiting.drop(1).reject { |other| verdict(other) == :slower }

      # @return [Symbol] verdict on the other's cost compared with the first choice's
      def verdict(other)
        margin = [other, first].map(&:margin).max
        Statistics::Verdict.of(cost(other).over(cost(first)), margin:, equality: @equality)
      end

      # @return [Boolean] whether the first choice is cheaper than all others
      def clear? = !first.nil? && tied.empty?

      # @return [Hash{Candidate => String}] candidates that break a constraint, with the constraint
      def broken = @broken ||= @candidates.to_h { |one| [one, one.breaks(constraints)] }.compact

      # @return [Candidate, nil] the application's store of now, if the run measured it
      def now = @candidates.find { |one| one.text == @now }

      # Every store has the misses of an undivided memory, so only further misses count: a divided memory has more.
      #
      # @return [Statistics::Interval] microseconds of a page, with round trips to other machines and further misses
      def cost(candidate)
        place = candidate.place
        missed = @page.reads.each_value.sum * (misses(candidate) - @page.misses) * @page.miss_us
        far = constraints.machines > 1 && place.reach == :network && (!place.remote || place.near)
        trips = far ? candidate.page_calls * @page.round_trip_us * (place.near ? FAR_SHARE : 1.0) : 0.0
        candidate.page_us.map { |us| us + trips + missed }
      end

      # @return [Float] share of the reads that miss
      def misses(candidate)
        @page.misses_with(candidate.place.reach == :process ? 1.0 / constraints.workers : 1.0)
      end

      # The answer under other constraints.
      #
      # @!attribute [r] constraints
      #   @return [Constraints]
      # @!attribute [r] state
      #   @return [Symbol] :clear (`names` has the first choice), :tied (`names` cannot be told apart), :unmeasured
      #     (`names` suit, but this run has no figures for them), or :nothing (no store suits)
      # @!attribute [r] names
      #   @return [Array<String>]
      Change = Data.define(:constraints, :state, :names)

      # A run with the other constraints would measure every store that meets them. So this run knows that run's choice
      # only if it has measured all of these stores.
      #
      # @return [Array<Change>] other constraints under which the answer differs, or is unknown
      def changes
        OTHERS.filter_map do |change|
          other = constraints.with(**change, given: constraints.given | change.keys.map(&:to_s))
          next if other.to_h.except(:given) == constraints.to_h.except(:given)
          found = changed(other)
          found unless found.state == :clear && found.names == [first&.text]
        end
      end

      private

      def changed(other)
        measured = @candidates.map { |one| one.text == "tiercel" ? "tiercel:shared:" : one.text }
        missing = Candidate.suiting(other) - measured
        return Change.new(other, :unmeasured, missing) if missing.any?
        choice = Choice.new(@candidates, other, equality: @equality, page: @page, now: @now)
        return Change.new(other, :nothing, []) unless choice.first
        Change.new(other, choice.clear? ? :clear : :tied, [choice.first, *choice.tied].map(&:text))
      end
    end

    # The cost of a page with each store: the sum of its calls, by means with garbage collection. A store needs a
    # figure for every call of the page.
    class Figures
      # The operations that can represent a hit; the first measured one is used.
      HITS = %w[read fetch].freeze

      # @param results [Hash{String => Object}]
      # @param page [Page]
      def initialize(results, page = Page::ASSUMED)
        @results = results
        @page = page
        cells = results["cells"].select do |cell|
          %w[baseline contestant].include?(cell["role"]) && cell["status"] == "measured" && cell["summary"]
        end
        @groups = cells.group_by { |cell| cell.values_at("value", "operation") }
      end

      # @return [Array<Candidate>]
      def candidates = @candidates ||= weights.any? ? complete.filter_map { |name| candidate(name) } : []

      # @return [Hash{String => Object}, nil] the table of the workers' memory, see {Tables::Switch}
      def workers = @results["tables"].find { |table| table["name"] == "workers" }

      # @return [Boolean] whether two costs can be found equal
      def equality? = @results["run"]["protocol"]["equality"]

      # @return [String] a sentence with the calls of a page
      def words
        reads = values.map { |value| "#{Report::Cell.count(reads_of(value).round(1))} of #{value}" }.join(", ")
        misses = weights.any? { |(_, operation), _| operation == "write" } ? @page.miss_words : "all of them hits"
        "#{@page.source ? "The page of #{@page.source}" : "An assumed page"}: reads: #{reads}; #{misses}."
      end

      private

      def hit = HITS.find { |operation| @groups.any? { |(_, other), _| other == operation } }

      def values
        all = @groups.keys.filter_map { |value, operation| value if operation == hit }
        known = all & @page.values
        known.any? ? known : all
      end

      def reads_of(value) = @page.reads.fetch(value, 1.0)

      # @return [Hash{Array(String, String) => Float}] calls of a page, by value and operation
      def weights
        @weights ||= values.each_with_object({}) do |value, found|
          missed = %w[write miss].select { |operation| @groups.key?([value, operation]) }
          found[[value, hit]] = reads_of(value) * (missed.include?("write") ? 1 - @page.misses : 1.0)
          missed.each { |operation| found[[value, operation]] = reads_of(value) * @page.misses }
        end
      end

      def counted = @groups.select { |key, _| weights.key?(key) }

      # @return [Array<String>] contestants with a figure for every call
      def complete = counted.values.map { |cells| cells.map { |cell| cell["contestant"]["name"] } }.reduce(:&) || []

      def candidate(name)
        calls = counted.map { |key, cells| [weights[key], cost(cells, name)] }
        cells = counted.values.map { |group| cell_of(group, name) }
        Candidate.of(cells.first["contestant"], page_us: sum(calls), page_calls: weights.values.sum,
                                                page_bytes: page_bytes(name),
                                                entry_bytes: entry_bytes(name), margin: margin(cells))
      end

      # The largest margin of the cells; the baseline has none.
      def margin(cells) = cells.filter_map { |cell| cell["summary"]["threshold"] }.max || 0.0

      def cell_of(cells, name) = cells.find { |cell| cell["contestant"]["name"] == name }

      # The ratio to the baseline, from blocks that ran next to each other, times the baseline's cost. If only one was
      # timed by CPU time, the cost is the cell's own mean.
      #
      # @return [Statistics::Interval] microseconds of a call
      def cost(cells, name)
        cell = cell_of(cells, name)
        baseline = cells.find { |other| other["role"] == "baseline" }
        return whole(cell) unless baseline && cell["summary"]["ratio"] && cell["clock"] == baseline["clock"]
        ratio = interval(cell["summary"]["mean_ratio"] || cell["summary"]["ratio"])
        ratio.map { |times| times * whole(baseline).estimate }
      end

      def whole(cell) = interval(cell["summary"]["mean_ns"]).map { |ns| ns / 1e3 }

      def interval(record) = Statistics::Interval.new(*record.values_at("estimate", "low", "high"))

      # Each value ran in processes of its own, so the errors are independent.
      def sum(calls)
        total = calls.sum { |count, us| count * us.estimate }
        below, above = [:low, :high].map do |bound|
          Math.sqrt(calls.sum { |count, us| (count * (us.estimate - us.public_send(bound)))**2 })
        end
        Statistics::Interval.new(total, [total - below, total * 0.01].max, total + above)
      end

      def page_bytes(name)
        values.sum do |value|
          stored = bytes(name, value, "mean_bytes") or return
          reads_of(value) * stored
        end
      end

      def entry_bytes(name) = values.filter_map { |value| bytes(name, value, "largest_bytes") }.max.to_f

      # Some recorded runs have the median alone.
      def bytes(name, value, fact)
        cell_of(@groups.fetch([value, hit]), name)["exact"].values_at(fact, "stored_bytes").compact.first
      end
    end

    # The answer in words, at the top of a report, in lines of {WIDTH} columns.
    class Sheet
      WIDTH = 80
      # Maximum number of lines about changes of the answer.
      CHANGES = 4
      CHANGES_TITLE = "What would change the answer:"
      # The words before the command that measures a store.
      UNMEASURED = ": not measured; "

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
          return "#{first.text} is the first choice: no other store of this run suits."
        end
        now = ", and your store of now" if choice.now == first
        return "#{first.text} is the first choice#{now}: #{compared}." if choice.clear?
        others = [first, *choice.tied].map(&:text)
        than_now = " #{first.text} takes #{compared}." if other_now
        "Cannot tell which is cheapest: #{listed(others)}.#{than_now}"
      end

      # The stores that break a constraint, with the reasons.
      #
      # @return [Array<String>]
      def left_out
        broken = choice.broken
        return [] if broken.empty?
        reasons = broken.group_by(&:last).map do |reason, all|
          "#{listed(all.map { |one, _| one.text }, "and")} (#{reason})"
        end
        ["Left out: #{reasons.join("; ")}."]
      end

      # @return [Array<String>]
      def lines
        others = changes.flat_map { |change| pasted("- #{change}") }
        [*wrapped("For #{conditions}:"), "", *wrapped(sentence), *candidates.flat_map { |one| shown(*one) }, "",
         *notes.flat_map { |note| wrapped(note) }, *(["", CHANGES_TITLE, *others] if others.any?)]
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

      # Compares the first choice with the application's present store, or else with every store that suits.
      def compared
        return "#{cost(choice.first)} of cache work a page#{against}" unless other_now
        gain = choice.cost(other_now).estimate - choice.cost(choice.first).estimate
        less = "#{Report::Format.duration(gain.abs / 1e6)} #{gain.negative? ? "more" : "less"}"
        told = %i[slower faster].include?(choice.verdict(other_now))
        "#{cost(choice.first)} of cache work a page, #{cost(other_now)} with #{other_now.text} now: " \
          "#{told ? less : "this run cannot tell them apart"}"
      end

      def against
        others = choice.suiting.drop(1).first(Choice::MOST).map { |one| "#{cost(one)} with #{one.text}" }
        others.any? ? "; #{others.join(", ")}" : ""
      end

      # @return [Array<Array>] name, cost, memory, configuration
      def candidates
        choice.shown.map do |one|
          [one.text, "#{cost(one)} a page", memory(one), one.configuration(choice.constraints)]
        end
      end

      # Returns an empty line, the figures, and the configuration. The figures get a separate line if the name is long.
      def shown(name, cost, memory, configuration)
        line = format("- %-28s %-22s %s", name, cost, memory)
        lines = line.length > WIDTH ? ["- #{name}", "  #{cost}, #{memory}"] : [line.rstrip]
        ["", *lines, *("  #{configuration}" if configuration)]
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

      def notes = [@figures.words, *(trip_words if trips?), *memory_words, *left_out, *workers_words]

      # The memory of all workers, or the command that measures it: a cell runs in one process.
      def workers_words
        rows, facts = @figures.workers&.values_at("rows", "notes")
        from = choice.now&.text
        unless rows
          return Now::IN_PLACE[from] && "Memory of 8 workers: #{@program.split.first} switch --quick --from #{from}"
        end
        words = rows.map { |row| "#{held(row)} with #{row["store"]}#{" now" if row["store"] == from}" }
        entries = Report::Format.number(facts["entries"])
        "Memory of #{facts["workers"]} workers that read #{entries} entries of 2 KB: #{words.join(", ")}."
      end

      def held(row)
        found = { "bytes" => "%s", "trimmed" => "(%s after malloc_trim)", "server_bytes" => "and %s of its server" }
        words = found.filter_map { |name, text| format(text, Report::Format.bytes(row[name])) if row[name] }
        words.empty? ? "not measured" : words.join(" ")
      end

      def memory_words
        bytes = choice.first&.page_bytes
        "With #{choice.first.text} a page's entries take #{Report::Format.bytes(bytes)}." if bytes
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
        other = change.constraints
        changed = other.given.reject { |name| other.public_send(name) == choice.constraints.public_send(name) }
        with = "with #{changed.flat_map { |name| change.constraints.option(name) }.join(" ")}"
        case change.state
        when :clear then "#{with}, the first choice is #{change.names.first}"
        when :tied then "#{with}, #{listed(change.names)} (cannot tell)"
        when :nothing then "#{with}, no store of the lab suits"
        else "#{with}#{UNMEASURED}#{[@program, "--quick", *change.constraints.options].join(" ")}"
        end
      end

      # A command that does not fit has a line of its own, and can still be pasted.
      def pasted(text)
        said, command = text.split(UNMEASURED)
        text.length > WIDTH && command ? ["#{said}#{UNMEASURED}".rstrip, "  #{command}"] : wrapped(text)
      end

      def wrapped(text) = text.scan(/\S.{0,#{WIDTH - 1}}(?=\s|\z)|\S{#{WIDTH}}/).map(&:rstrip)
    end
  end
end
