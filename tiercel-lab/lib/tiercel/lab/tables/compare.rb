# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # Compares stores side by side.
    module Compare
      class Table < Tables::Table
        called "compare", "Stores side by side, with intervals and a noise floor."
        example "compare --quick", "compare --store tiercel --op read --value html-2kb",
                "compare --store mem_cache_store#compress=false",
                "compare --url production=redis://10.0.0.7:6379/0 --op read,write",
                "compare --data storage/fragments --quick", "compare --plan",
                "compare --quick --machines 2 --survives restart"
        takes :quick, :seed, :cells, :data, :url, :constraints, :now, :profile
        # These cells decide the answer.
        in_all 5, arguments: %w[--value html-2kb,rows-50 --op read,write], weight: 2 # it decides the answer

        BASELINE = "memory_store"

        class << self
          # `compare A B` is another table with the same command name.
          def variant(words) = words.any? ? SidesTable : self

          # A run with two sides has a view of its own.
          def view(results, command:) = sides?(results) ? SidesTable.view(results, command:) : super
          def exit_code(results) = sides?(results) ? SidesTable.exit_code(results) : super

          private

          def sides?(results) = results["tables"].any? { |table| table["name"] == "sides" }
        end

        def options(parser)
          parser.separator("    compare A B: two revisions, versions of a gem or stores; compare A B --help")
          store_option(parser, default: Contestants::DEFAULT.join(", "))
          things parser, "--op", Operations, :operations, "see `help operations`"
          value_option(parser)
          parser.on("--baseline STORE", "baseline of the ratios (#{BASELINE})") do |text|
            @baseline = Contestants.parse(text)
          end
        end

        def plan
          contestants = chosen_contestants
          baseline = contestants.find { |contestant| contestant.name == baseline_contestant.name }
          default = settings.quick ? Values::QUICK : Values::DEFAULT
          values = chosen_values(settings.page.source ? settings.page.values : default)
          comparisons_of(values, operations, contestants, baseline:, loop: !settings.quick)
        end

        def expected_seconds = super&.+(settings.now ? workers([settings.now] * 2).expected_seconds : 0)

        # Adds the memory of the workers with the store of now and with the first choice, which no cell has.
        def take(comparisons)
          super
          return unless settings.now && !run.interrupted?
          found = run.results.merge(constraints)
          choice = Answer.of(found, found["constraints"], program: "")&.choice
          stores = [choice&.first, choice&.now].compact.map(&:text).uniq
          @workers = workers(stores.reject { |text| Contestants.parse(text).foreign? })
          run.table("workers", tried(Switch::Trial).rows, **design.to_h, kind: "PSS") if design.stores.any?
        end

        # @return [Switch::Design, nil] nil until the cells are measured
        def design = @workers

        private

        def workers(stores) = Switch::Design::FULL.with(stores:)

        def baseline_contestant = @baseline_contestant ||= @baseline || Contestants.parse(BASELINE)

        def chosen_contestants
          [baseline_contestant, *(@stores || parse_all(candidates)), *now, *settings.urls].uniq(&:name)
        end

        def now = settings.now && !@stores ? [Contestants.parse(settings.now)] : []

        # With constraints, the stores that satisfy them.
        def candidates
          return Contestants::DEFAULT unless settings.constrained? || settings.now || settings.page.source
          Answer::Candidate.suiting(settings.constraints)
        end

        def operations
          facts_given[:operations] ||
            (settings.quick ? Operations::QUICK : Operations::DEFAULT).map { |name| Operations.fetch(name) }
        end
      end

      # Shows a comparison of stores: a section for each value, with a table and a forest plot for each operation. The
      # sentence names the cost of a hit with the fastest store, and how many times as fast it is as the others. If
      # the intervals do not decide which store is fastest, the sentence names the first candidate.
      class View < Tables::View
        # The sentence prefers these operations.
        OPERATIONS = %w[read fetch].freeze
        COLUMNS = { "store" => :label, "median" => :time, "ratio" => :ratio, "by the mean" => :mean_ratio,
                    "verdict" => :verdict_flagged, "of it GC" => :collection, "objects" => :objects,
                    "bytes" => :bytes }.freeze

        FLAGS = { "saturated" => "The client's CPU was busy throughout, so the client limits this figure.",
                  "incomplete" => "Undecided after fewer processes than planned.",
                  "unsteady" => "The time still fell when the recording began." }.freeze

        LEGEND = "Time of a call, with garbage collection. Ratio: by the baseline's, median of paired blocks; by " \
                 "the mean: counts rare costs too; in brackets %s. Uneven: few blocks cost much, see the note."

        def title = "Cache stores side by side"

        # Older runs have recorded their sentence.
        def sentence = results.fetch("sentence") { headline }

        def fill(document)
          results["cells"].group_by { |cell| cell["value"] }.each { |value, cells| add_value(document, value, cells) }
          document.sections.first&.elements&.unshift(Report::Document::Paragraph.new(format(LEGEND, interval_words)))
          advice(document) if cells.any? { |cell| measured?(cell) }
        end

        private

        def headline
          group = first_comparison or return "Nothing could be measured."
          leader = leader(group)
          told, tied = (group - [hero]).partition { |cell| leader.verdict(hero, cell) != :cannot_tell }
          others = told.map { |cell| leader.compared(hero, cell, name(cell)) }
          others << leader.compared(hero, tied.first, tied.map { |cell| name(cell) }.join(" or ")) if tied.any?
          call = Operations.fetch(hero["operation"]).phrase.sub(/\A./, &:upcase)
          "#{call} costs #{us(hero["summary"]["ns"])} with #{name(hero)} (#{title_of(hero["value"])})" \
            "#{": #{others.join(", ")} here" if others.any?}; floor " \
            "#{worst_floor ? Report::Format.percent(worst_floor) : "not measured"}"
        end

        # The leader of the first comparison.
        def hero = first_comparison&.then { |group| leader(group).first }

        def first_comparison
          groups = cells.select { |cell| keeper?(cell) }.group_by { |cell| cell["comparison"] }.values
          groups.min_by.with_index do |group, index|
            [OPERATIONS.index(group.first["operation"]) || OPERATIONS.size, index]
          end
        end

        def keeper?(cell) = measured?(cell) && cell["contestant"]["keeps"] != false

        def add_value(document, value, cells)
          document.section(title_of(value)) do |section|
            cells.group_by { |cell| cell["comparison"] }.each_value do |group|
              next if group.all? { |cell| cell["status"] == "unsuitable" }
              add_group(section, value, group)
            end
          end
        end

        def add_group(section, value, group)
          shown = group.select { |cell| row?(cell) }
          baseline = group.find { |cell| baseline?(cell) }
          title = "#{shown.map { |cell| cell["operation"] }.uniq.join(" / ")}: #{value}"
          section.add(cell_table(title, shown, COLUMNS, command: again(shown)))
          plot = forest("#{title}, by ratio", shown, baseline: name(baseline)) and section.add(plot)
        end

        alias label name

        def collection(cell) =
          Report::Cell.number(cell["summary"]["gc_ns"] / 1e3, unit: "us", muted: undecided?(cell))

        def verdict_flagged(cell)
          notes = FLAGS.values_at(*cell["summary"]["flags"]).compact
          return verdict(cell) if notes.empty? || cell["summary"]["verdict"].nil?
          Report::Cell.verdict(cell["summary"]["verdict"].to_sym, note: notes.join(" "))
        end

        def again(shown)
          options = shown.map { |cell| "--store #{CommandLine.quote(cell["contestant"]["text"])}" }
          baseline = shown.find { |cell| baseline?(cell) }
          options << "--baseline" << CommandLine.quote(baseline["contestant"]["text"]) if baseline && shown.size > 1
          options << "--value" << shown.first["value"] if Values.known?(shown.first["value"])
          [program, *options, "--op", shown.first["operation"], *CommandLine.shared(results)].join(" ")
        end

        def program = command.split.first

        # Shows the next commands. The line for the configuration is in the answer, which knows the constraints.
        def advice(document)
          document.section("What next") do |section|
            section.text(undecided_words) if undecided_words
            section.code(again([hero || cells.find { |cell| measured?(cell) }]), title: "One cell alone:")
          end
        end

        # Says how many more processes would decide the open cells.
        def undecided_words
          undecided = cells.select { |cell| measured?(cell) && undecided?(cell) }
          return if undecided.empty?
          needs = undecided.filter_map { |cell| cell["summary"]["needs"] }
          "Undecided: #{undecided.size} of #{cells(role: "contestant").size} cells" \
            "#{needs.any? ? "; `--processes #{needs.max}` would decide #{needs.size}" : more_words}."
        end

        def more_words = quick? ? "; a quick run decides only what is clear" : "; they are at their margins"
      end
    end
  end
end
