# frozen_string_literal: true

require_relative "../../load/site"
require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # The loop of the second article with near and far servers, and the distance from which compression or a near tier
      # pays.
      module Latency
        class Table < Tables::Table
          called "latency", "Latency by distance to the server, and under load."
          example "latency --quick", "latency --round-trips 0,0.25,1 --store redis_cache_store",
                  "latency --url production=redis://10.0.0.7:6379/0", "latency --arrivals constant --rates 2000,8000"
          takes :quick, :seed, :cells, :url
          in_all 60
          # A quick run spends its time on the loop.
          quick blocks: 3
          full processes: 4, most_processes: 8, blocks: 4, budget_seconds: 60

          # Break-even points are computed from reads of these values, compressed and not.
          VALUES = %w[html-2kb rows-50 html-822kb].freeze
          QUICK_VALUES = %w[html-2kb html-822kb].freeze
          PLAIN = "redis_cache_store#compress=false"
          # Compresses values of every size, to find where compression pays.
          COMPRESSED = "redis_cache_store#compress=true,compress_threshold=1"
          NEAR = "tiercel:shared:"

          def options(parser)
            store_option(parser, default: Design::STORES.join(", "))
            fact parser, "--round-trips A,B", "added ms (0,0.25,0.5,1,5,20)", :round_trips_ms, :zero
            fact parser, "--bandwidth A,B", "caps in Mbit/s (100,10)", :megabits, :number
            fact parser, "--iterations N", "of the loop (1000)", :iterations, :count
            fact parser, "--rates A,B", "offered requests a second (500,2000,...)", :rates, :number
            parser.on("--arrivals KIND", Load::Arrivals::OPEN, "exponential or constant gaps") do |kind|
              facts_given[:arrivals] = kind
            end
            parser.on("--value NAME", "value instead of the article's 1,001 characters") do |name|
              facts_given[:value] = Values.fetch(name).name
            end
          end

          def plan
            values = (settings.quick ? QUICK_VALUES : VALUES).map { |name| Values.fetch(name) }
            comparisons_of(values, [Operations.fetch("read")], parse_all([PLAIN, COMPRESSED, NEAR]))
          end

          def plan_in_words
            "The loop: #{design.slots.size} rows, #{design.loaded.size} stores at #{design.rates.size} rates, " \
              "#{design.processes} processes, about #{Report::Format.minutes(design.expected_seconds)}; then:"
          end

          def take(comparisons)
            trial = tried(Trial)
            facts = { iterations: design.iterations, long_iterations: design.long_iterations, arrivals: design.arrivals,
                      value: design.value, processes: design.processes, versions: trial.versions }
            run.table("loop", trial.rows, **facts)
            run.table("load", trial.loads, **facts)
            super
          end

          # @return [Design]
          def design
            @design ||= Design.of(quick: settings.quick, own: settings.urls, contestants:, **facts_given)
          end

          private

          # Refuses stores whose servers have no proxy.
          def contestants
            found = @stores || parse_all(Design::STORES)
            found.each do |contestant|
              other = contestant.servers - Load::Site::QUESTIONS.keys
              next if other.empty?
              raise UsageError, "--store #{contestant.text}: latency measures memcached and redis, not #{other.first}"
            end
          end
        end
      end

      add Latency::Table
    end
  end
end
