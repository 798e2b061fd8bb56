# frozen_string_literal: true

require_relative "table"

module Tiercel
  module Lab
    module Documents
      # Clients against a raw socket.
      class Client < Table
        HEADER = ["client", "a call", "by the raw socket's", "verdict", "over it", "objects"].freeze
        NAMES = { "client_get" => "get", "client_set" => "set", "client_get_multi" => "get_multi of 100",
                  "client_set_multi" => "set_multi of 100", "client_delete_multi" => "delete_multi of 100" }.freeze
        SERVERS = { "memcached" => "one memcached", "ring" => "a ring of two memcacheds",
                    "redis" => "one Redis" }.freeze
        # The gem whose version belongs to a client's name.
        GEMS = { "dalli" => "dalli", "redis_client" => "redis-client", "redis_gem" => "redis",
                 "backend" => "tiercel" }.freeze
        # Source: "Ruby Caches - Improving Caching Via Tooling", dalli's set in us an iteration on its author's machine.
        ARTICLE = [["client set, before", 333.52, 2.75], ["client set, after", 134.51, 1.10],
                   ["raw socket set", 121.82, 1.0]].freeze

        def title = "Clients against a raw socket"

        def fill(document)
          document.verdict(sentence, floor: worst_floor, warnings: warnings + quick_words)
          groups.group_by { |group| group.first["value"] }.each do |value, of_value|
            document.section(title_of(value)) { |section| of_value.each { |group| add(section, group) } }
          end
          document.section("The ring") do |section|
            section.text("A ring of two is measured with memcached only: there the client shares keys out. " \
                         "redis-client has no ring; several Redis are a cluster, whose servers decide where a key is.")
          end
          document.section("The article's own figures") { |section| section.add(article) }
        end

        private

        # Cells of one comparison, told apart by the raw socket's server and the operation.
        def groups
          @groups ||= results["cells"].slice_when { |_one, other| other["role"] == "baseline" }.to_a
        end

        def baseline(group) = group.find { |cell| cell["role"] == "baseline" }

        def shown(group) = group.select { |cell| %w[baseline contestant].include?(cell["role"]) }

        def operation(group) = NAMES.fetch(baseline(group)["operation"])

        def server(group) = SERVERS.fetch(baseline(group).dig("contestant", "text").delete_prefix("raw:"))

        def sentence
          found = groups.flat_map do |group|
            compared = shown(group).select { |cell| cell["role"] == "contestant" && measured?(cell) }
            compared.filter_map { |cell| [group, cell] if cell["summary"]["ratio"] }
          end
          return "Nothing could be measured." if found.empty?
          group, least = found.min_by { |_group, cell| cell["summary"]["ratio"]["estimate"] }
          worst_group, most = found.max_by { |_group, cell| cell["summary"]["ratio"]["estimate"] }
          "A client's call takes from #{words(least)} (#{label(least)}, #{operation(group)}) to #{words(most)} " \
            "(#{label(most)}, #{operation(worst_group)}) times what a raw socket takes."
        end

        def words(cell) = Report::Cell.interval(interval(cell["summary"]["ratio"])).to_s

        def quick_words
          quick? ? ["Quick: one value; all operations with one memcached, get and get_multi with the others."] : []
        end

        # With the version that ran.
        def label(cell)
          text = cell.dig("contestant", "text")
          gem = GEMS[text[/\A\w+/]]
          bundle = rows("versions").find { |row| row["bundle"] == cell.dig("contestant", "bundle") }
          version = bundle && gem && bundle["gems"][gem]
          name = cell.dig("contestant", "name").sub(/#?version=[\d.]+,?/, "")
          version && gem != "tiercel" ? "#{name} (#{version})" : name
        end

        def add(section, group)
          section.add(table(group))
          chart = chart(group) and section.add(chart)
        end

        def heading(group) = "Client: #{operation(group)}, #{server(group)}, #{baseline(group)["value"]}"

        def table(group)
          table = Report::Table.new(heading(group), header: HEADER, command: again(group),
                                                    note: "Over it: a call less a raw socket's#{loop_words(group)}.")
          shown(group).each do |cell|
            table.row(*figures(group, cell))
            table.raw(label(cell), block_us(cell), unit: "us") if cell["summary"]
          end
          table
        end

        def loop_words(group)
          loop = group.find { |cell| cell["role"] == "loop" }
          return "" unless loop && measured?(loop)
          "; a call that does nothing, loop included, takes " \
          "#{Report::Format.number(loop["summary"]["ns"]["estimate"] / 1e3)} us"
        end

        def figures(group, cell)
          return [label(cell), missing(cell), *[""] * (HEADER.size - 2)] unless measured?(cell)
          [label(cell), time(cell), ratio(cell), verdict(cell), over(group, cell), objects(cell)]
        end

        # By the ratio, which is of blocks that took turns, times the socket's median.
        def over(group, cell)
          raw = baseline(group)
          return "" if cell.equal?(raw) || cell["summary"]["ratio"].nil? || !measured?(raw)
          us = raw["summary"]["ns"]["estimate"] / 1e3
          Report::Cell.interval(interval(cell["summary"]["ratio"]).map { |ratio| (ratio - 1) * us }, unit: "us")
        end

        def chart(group)
          compared = shown(group).select { |cell| measured?(cell) && cell["summary"]["ratio"] }
          return if compared.empty?
          floor = 1.0 + compared.map { |cell| cell["summary"]["floor"].to_f }.max
          chart = Report::Charts::ForestPlot.new("#{heading(group)}, by ratio", baseline: "raw socket",
                                                 floor: Statistics::Interval.new(1.0, 1.0 / floor, floor))
          compared.each do |cell|
            chart.row(label(cell), interval(cell["summary"]["ratio"]), cell["summary"]["verdict"].to_sym)
          end
          chart
        end

        def again(group)
          raw = baseline(group)
          [command[/\A.*?\bclient\b/], "--server", raw.dig("contestant", "text").delete_prefix("raw:"), "--op",
           raw["operation"], "--value", raw["value"], *Carried.words(results)].join(" ")
        end

        def article
          rows = ARTICLE.map do |name, us, ratio|
            [name, Report::Cell.number(us, unit: "us"), Report::Cell.number(ratio, unit: "x")]
          end
          Report::Table.new("Client: as published", header: ["what", "us an iteration", "by the raw socket's"], rows:,
                            note: "Reference: another machine, dalli's set before and after one change.")
        end
      end
    end
  end
end
