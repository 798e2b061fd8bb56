# frozen_string_literal: true

require_relative "../report"
require_relative "../runner/machine"
require_relative "../statistics"
require_relative "../terminal/figures"
require_relative "../values"
require_relative "carried"

module Tiercel
  module Lab
    # Reports made from results, so that a run can be rendered again from its file.
    module Documents
      # A comparison of stores: for each value a section, for each operation a table and a forest plot.
      class Compare
        HEADER = ["store", "median", "GC a call", "ratio", "verdict", "objects", "bytes"].freeze

        # @param results [Hash{String => Object}] a run's document, see {Results.load}
        # @param command [String] what makes it again
        def initialize(results, command:)
          @results = results
          @command = command
        end

        # @return [Report::Document]
        def build
          run = @results["run"]
          document = Report::Document.new(title: "Cache stores side by side", command: @command, data: @results,
                                          subtitle: "#{run["protocol"]["processes"]} processes x " \
                                                    "#{run["protocol"]["blocks"]} blocks, interleaved; 95 % intervals",
                                          environment:)
          document.verdict(@results.fetch("sentence", "No sentence was recorded."), floor: worst_floor,
                           warnings: @results.fetch("warnings", []))
          @results["cells"].group_by { |cell| cell["value"] }.each { |value, cells| add_value(document, value, cells) }
          document
        end

        private

        def environment
          facts = @results["environment"]
          servers = @results.fetch("servers", []).map { |server| server.values_at("name", "version").compact.join(" ") }
          { "Machine" => Runner::Machine.sentence(facts), "Kernel" => facts["kernel"], "Pinning" => facts["pinning"],
            "Servers" => servers.join(", "),
            "Date" => @results["run"]["started_at"], "Seed" => @results["run"]["seed"],
            "Revision" => facts.dig("git", "sha")&.slice(0, 8) }.compact
        end

        def worst_floor
          floors = @results["cells"].filter_map { |cell| cell.dig("summary", "floor") if cell["role"] == "null" }
          Terminal::Figures.percent(floors.max) if floors.any?
        end

        def add_value(document, value, cells)
          title = Values.known?(value) ? Values.fetch(value).title : value
          document.section(title) do |section|
            cells.group_by { |cell| cell["comparison"] }.each_value do |group|
              next if group.all? { |cell| cell["status"] == "unsuitable" }
              section.add(table(value, group))
              plot = forest(value, group) and section.add(plot)
            end
          end
        end

        def rows(group) = group.select { |cell| %w[baseline contestant].include?(cell["role"]) }

        def operation(group) = rows(group).map { |cell| cell["operation"] }.uniq.join(" / ")

        def table(value, group)
          baseline = group.find { |cell| cell["role"] == "baseline" }
          title = "#{operation(group)}: #{value}"
          table = Report::Table.new(title, header: HEADER, command: again(group),
                                           note: "Ratios are of the time to that of " \
                                                 "`#{baseline["contestant"]["name"]}`.")
          rows(group).each do |cell|
            table.row(*figures(cell))
            table.raw(cell["contestant"]["name"], block_us(cell), unit: "us") if cell["summary"]
          end
          table
        end

        def figures(cell)
          name = cell["contestant"]["name"]
          summary = cell["summary"]
          unless summary && cell["status"] == "measured"
            return [name, Report::Cell.missing(reason(cell)), *[""] * (HEADER.size - 2)]
          end
          ratio = interval(summary["ratio"])
          muted = summary["verdict"] == "cannot_tell"
          [name, Report::Cell.interval(interval(summary["ns"], 1e-3), unit: "us", muted:),
           Report::Cell.number(summary["gc_ns"] / 1e3, unit: "us", muted:),
           ratio ? Report::Cell.interval(ratio, unit: "x", muted:) : "baseline",
           summary["verdict"] ? summary["verdict"].to_sym : "",
           Report::Cell.count(cell["exact"]["allocations"]), cell["exact"]["stored_bytes"]]
        end

        def reason(cell) = [cell["status"], cell["reason"]].compact.join(": ")

        # A figure for each block, as the summary has them.
        def block_us(cell)
          cell["slices"].group_by { |process, block,| [process, block] }.values.map do |slices|
            ns = slices.sum { |slice| (cell["clock"] == "cpu" ? slice[6] : slice[4]) - slice[5] }
            ns.fdiv(slices.sum { |slice| slice[3] }) / 1e3
          end
        end

        def forest(value, group)
          compared = rows(group).select { |cell| cell.dig("summary", "ratio") && cell["status"] == "measured" }
          baseline = group.find { |cell| cell["role"] == "baseline" }
          return if compared.empty?
          floor = compared.map { |cell| cell.dig("summary", "floor").to_f }.max + 1.0
          title = "#{operation(group)}: #{value}, by ratio"
          plot = Report::Charts::ForestPlot.new(title, baseline: baseline["contestant"]["name"],
                                                       floor: Statistics::Interval.new(1.0, 1.0 / floor, floor))
          compared.each do |cell|
            plot.row(cell["contestant"]["name"], interval(cell["summary"]["ratio"]), cell["summary"]["verdict"].to_sym)
          end
          plot
        end

        def again(group)
          options = rows(group).map { |cell| "--store #{Carried.quoted(cell["contestant"]["text"])}" }
          baseline = group.find { |cell| cell["role"] == "baseline" }
          options << "--baseline" << Carried.quoted(baseline["contestant"]["text"])
          options << "--value" << group.first["value"] if Values.known?(group.first["value"])
          [@command.split.first, *options, "--op", group.first["operation"], *Carried.words(@results)].join(" ")
        end

        def interval(hash, factor = 1.0)
          hash && Statistics::Interval.new(*hash.values_at("estimate", "low", "high").map { |number| number * factor })
        end
      end
    end
  end
end
