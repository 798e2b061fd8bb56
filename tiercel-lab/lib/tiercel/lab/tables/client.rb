# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # The benchmark of the fourth article: the time that a client adds to its socket.
    module Client
      class Table < Tables::Table
        called "client", "Clients against a raw socket."
        example "client --quick", "client --op client_set --server memcached",
                "client --client dalli#bundle=/path/to/my.gemfile",
                "client --value html-822kb --op client_get,client_set"
        takes :quick, :seed, :cells, :data
        in_all 80, weight: 2 # a busy machine leaves its cells undecided longest
        quick processes: 6, blocks: 3
        # There are 36 comparisons, and workers have bundles of their own.
        full processes: 4, most_processes: 8, blocks: 3, budget_seconds: 240

        OPERATIONS = %w[client_get client_set client_get_multi client_set_multi].freeze
        # The clients to compare with a raw socket, by their servers.
        CLIENTS = { "memcached" => %w[dalli dalli#version=3.2 backend:memcached],
                    "redis" => %w[redis_client redis_client#driver=:hiredis redis_client#version=0.22 redis_gem
                                  backend:redis] }.freeze
        VALUES = %w[string-100b string-1kb html-822kb].freeze
        # A quick run varies one factor at a time from the default (one memcached, 1 KB): operations, then servers.
        QUICK_OPERATIONS = { "memcached" => OPERATIONS, "redis" => %w[client_get client_get_multi] }.freeze
        QUICK_VALUES = %w[string-1kb].freeze

        def options(parser)
          parser.on("--client CLIENT",
                    "repeatable: dalli, redis_client, redis_gem, backend:memcached, backend:redis; " \
                    "#version=X or #bundle=FILE") do |text|
            add_client(text)
          end
          names parser, "--server", CLIENTS, :servers
          names parser, "--op", OPERATIONS, :operations
          value_option(parser)
        end

        def plan
          chosen_values(settings.quick ? QUICK_VALUES : VALUES).flat_map do |value|
            servers.flat_map do |server|
              operations(server).map { |name| Operations.fetch(name) }
                                .reject { |operation| operation.unsuitable(value) }
                                .map { |operation| comparison(value, server, operation) }
            end
          end
        end

        private

        def add_client(text)
          contestant = Contestants.parse(text)
          raise UsageError, "--client #{text}: not a client" unless contestant.kind == :client
          (@clients ||= []) << contestant
        end

        def servers = facts_given.fetch(:servers) { CLIENTS.keys.select { |name| clients(name).any? } }

        def operations(server)
          facts_given.fetch(:operations) { settings.quick ? QUICK_OPERATIONS.fetch(server) : OPERATIONS }
        end

        def clients(server)
          wanted = raw(server).servers
          (@clients || parse_all(CLIENTS.fetch(server))).select { |client| client.servers == wanted }
        end

        def raw(server) = Contestants.parse("raw:#{server}")

        # The raw socket is the baseline; a call that does nothing is the loop.
        def comparison(value, server, operation)
          baseline = raw(server)
          between = Engine::Comparison.between(value:, baseline: [baseline, operation],
                                               others: clients(server).map { |client| [client, operation] })
          nothing = Engine::ArmSpec.new(id: between.arms.size, contestant: baseline, role: :loop, twin_of: nil,
                                        operation: Operations.fetch("client_loop"))
          Engine::Comparison.new(value:, arms: [*between.arms, nothing])
        end
      end

      # Compares clients with a raw socket.
      class View < Tables::View
        article(/one memcached/)

        quick "Quick: one value; all operations with one memcached, get and get_multi with the others."

        NAMES = { "client_get" => "get", "client_set" => "set", "client_get_multi" => "get_multi of 100",
                  "client_set_multi" => "set_multi of 100" }.freeze
        SERVERS = { "memcached" => "one memcached", "redis" => "one Redis" }.freeze
        # The gem of each client, whose version its label shows.
        GEMS = { "dalli" => "dalli", "redis_client" => "redis-client", "redis_gem" => "redis" }.freeze

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

        def fill(document)
          groups.group_by { |group| group.first["value"] }.each do |value, of_value|
            document.section(title_of(value)) { |section| of_value.each { |group| add(section, group) } }
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

        # The name of a client, with the version of its gem in the bundle of the run.
        def label(cell)
          text = cell.dig("contestant", "text")
          version = results.dig("environment", "gems", GEMS[text]) unless cell.dig("contestant", "bundle")
          version ? "#{name(cell)} (#{version})" : name(cell)
        end

        def heading(group) = "Client: #{operation(group)}, #{server(group)}, #{baseline(group)["value"]}"

        def add(section, group)
          columns = { "client" => :label, "a call" => :time, "by the raw socket's" => :ratio, "verdict" => :verdict,
                      "over it" => ->(cell) { over(group, cell) }, "objects" => :objects }
          section.add(cell_table(heading(group), shown(group), columns, command: again(group),
                                 note: "Over it: a call less a raw socket's#{loop_words(group)}."))
          chart = forest("#{heading(group)}, by ratio", shown(group), baseline: "raw socket", label: method(:label))
          section.add(chart) if chart
        end

        def loop_words(group)
          loop = group.find { |cell| cell["role"] == "loop" }
          return "" unless loop && measured?(loop)
          "; a call that does nothing, loop included, takes #{Report::Format.number(microseconds(loop))} us"
        end

        # Returns the client's own time: the ratio of interleaved blocks minus one, multiplied by the socket's median.
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

        # The article's set beside ours, for each size: the article does not name its own.
        def article
          ours = groups.select { |group| heading(group).start_with?("Client: set, one memcached") }
          rows = Published.of("client").map do |name, us, ratio|
            client = name.start_with?("client")
            here = ours.map do |group|
              next time(baseline(group)) unless client
              shown(group).find { |one| one.dig("contestant", "text") == "dalli" }&.then { |cell| ratio(cell) }
            end
            [name, figure(us, "us"), figure(ratio, "x"), *here]
          end
          values = ours.map { |group| "here: #{baseline(group)["value"]}" }
          Report::Table.new("Client: the article's figures beside ours", rows:,
                            header: ["what", "article: an iteration", "by the raw socket's", *values],
                            note: "Published for another machine, dalli's set before and after one change. Ours: " \
                                  "dalli's set by the raw socket's, and the time of the raw socket.")
        end
      end
    end
  end
end
