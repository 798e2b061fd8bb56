# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Client
        # Compares clients with a raw socket.
        class View < Tables::View
          article(/one memcached/)

          quick "Quick: one value; all operations with one memcached, get and get_multi with the others."

          NAMES = { "client_get" => "get", "client_set" => "set", "client_get_multi" => "get_multi of 100",
                    "client_set_multi" => "set_multi of 100", "client_delete_multi" => "delete_multi of 100" }.freeze
          SERVERS = { "memcached" => "one memcached", "ring" => "a ring of two memcacheds",
                      "redis" => "one Redis" }.freeze
          # The gem of each client, whose version its label shows.
          GEMS = { "dalli" => "dalli", "redis_client" => "redis-client", "redis_gem" => "redis",
                   "backend" => "tiercel" }.freeze
          # Source: "Ruby Caches - Improving Caching Via Tooling": dalli's set, in us an iteration, on the author's
          # machine.
          ARTICLE = [["client set, before", 333.52, 2.75], ["client set, after", 134.51, 1.10],
                     ["raw socket set", 121.82, 1.0]].freeze

          def title = "Clients against a raw socket"

          def sentence
            found = compared
            return "Nothing could be measured." if found.empty?
            ratios = found.to_h do |group, cell|
              ["#{words(cell)} (#{label(cell)}, #{operation(group)})", interval(cell["summary"]["ratio"])]
            end
            margin = found.map { |_group, cell| margin(cell) }.max
            "By the time of a raw socket's, a client's call takes " \
              "#{Leader.new(ratios, margin:, equality: protocol.equality).span}."
          end

          # The article's case: dalli sets one key.
          def findings
            group, cell = compared.find do |found, one|
              operation(found) == "set" && one.dig("contestant", "text") == "dalli"
            end
            return [] unless cell && cell["summary"]["verdict"] == "slower"
            [Finding.new("A set through #{label(cell)} takes #{words(cell)} times what a raw socket takes.",
                         heading(group))]
          end

          def fill(document)
            groups.group_by { |group| group.first["value"] }.each do |value, of_value|
              document.section(title_of(value)) { |section| of_value.each { |group| add(section, group) } }
            end
            document.section("The ring") do |section|
              section.text("A ring of two is measured with memcached only: there the client shares keys out. " \
                           "redis-client has no ring; several Redis are a cluster, whose servers decide where a key " \
                            "is.")
            end
            document.section("The article's own figures") { |section| section.add(article) }
          end

          private

          # The cells of each comparison, which begins with its baseline.
          def groups
            @groups ||= results["cells"].slice_when { |_one, other| baseline?(other) }.to_a
          end

          def baseline(group) = group.find { |cell| baseline?(cell) }

          def shown(group) = group.select { |cell| row?(cell) }

          # Clients with a ratio, each with its group.
          def compared
            groups.flat_map do |group|
              clients = shown(group).select { |cell| !baseline?(cell) && measured?(cell) && cell["summary"]["ratio"] }
              clients.map { |cell| [group, cell] }
            end
          end

          def operation(group) = NAMES.fetch(baseline(group)["operation"])

          def server(group) = SERVERS.fetch(baseline(group).dig("contestant", "text").delete_prefix("raw:"))

          def words(cell) = Report::Cell.interval(interval(cell["summary"]["ratio"])).to_s

          # The name of a client with the version of its gem.
          def label(cell)
            text = cell.dig("contestant", "text")
            gem = GEMS[text[/\A\w+/]]
            bundle = rows("versions").find { |row| row["bundle"] == cell.dig("contestant", "bundle") }
            version = bundle && gem && bundle["gems"][gem]
            name = name(cell).sub(/#?version=[\d.]+,?/, "")
            version && gem != "tiercel" ? "#{name} (#{version})" : name
          end

          def heading(group) = "Client: #{operation(group)}, #{server(group)}, #{baseline(group)["value"]}"

          def add(section, group)
            columns = { "client" => :label, "a call" => :time, "by the raw socket's" => :ratio, "verdict" => :verdict,
                        "over it" => ->(cell) { over(group, cell) }, "objects" => :objects }
            section.add(cell_table(heading(group), shown(group), columns, command: again(group), label: method(:label),
                                   note: "Over it: a call less a raw socket's#{loop_words(group)}."))
            chart = forest("#{heading(group)}, by ratio", shown(group), baseline: "raw socket", label: method(:label))
            section.add(chart) if chart
          end

          def loop_words(group)
            loop = group.find { |cell| cell["role"] == "loop" }
            return "" unless loop && measured?(loop)
            "; a call that does nothing, loop included, takes #{Report::Format.number(microseconds(loop))} us"
          end

          # The client's own time: the ratio of interleaved blocks less one, times the socket's median.
          def over(group, cell)
            raw = baseline(group)
            return "" if cell.equal?(raw) || cell["summary"]["ratio"].nil? || !measured?(raw)
            figure(interval(cell["summary"]["ratio"]).map { |ratio| (ratio - 1) * microseconds(raw) }, "us")
          end

          def again(group)
            raw = baseline(group)
            [command[/\A.*?\bclient\b/], "--server", raw.dig("contestant", "text").delete_prefix("raw:"), "--op",
             raw["operation"], "--value", raw["value"], *CommandLine.shared(results)].join(" ")
          end

          def article
            rows = ARTICLE.map { |name, us, ratio| [name, figure(us, "us"), figure(ratio, "x")] }
            Report::Table.new("Client: as published", header: ["what", "us an iteration", "by the raw socket's"], rows:,
                              note: "Reference: another machine, dalli's set before and after one change.")
          end
        end
      end
    end
  end
end
