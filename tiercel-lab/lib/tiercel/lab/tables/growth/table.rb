# frozen_string_literal: true

require_relative "../../engine/resident_memory"
require_relative "../table"
require_relative "design"
require_relative "trial"
require_relative "view"

module Tiercel
  module Lab
    module Tables
      # How time and memory grow with the number of entries, their size, and the processes that ask.
      module Growth
        class Table < Tables::Table
          called "growth", "How time and memory grow with entries, sizes and processes."
          example "growth --quick", "growth --entries 1000,1000000 --size 1KB,1MB",
                  "growth --store tiercel:shared: --workers 1,2,4,8,16"
          takes :quick, :seed, :require

          def options(parser)
            parser.on("--store A,B", Array, "of #{Design::STORES.keys.first(3).join(", ")},",
                      Design::STORES.keys.drop(3).join(", ")) { |names| @stores = names.each { |name| known!(name) } }
            parser.on("--entries A,B", Array, "how many (1000 to 10000000)") do |list|
              @entries = list.map { |text| count(text, "--entries") }
            end
            parser.on("--most-entries N", "leaves out what has more of them") do |text|
              @most = count(text, "--most-entries")
            end
            parser.on("--entry-size SIZE", "of a value where entries grow (100B)") do |text|
              @entry_bytes = size(text)
            end
            parser.on("--size A,B", Array, "of values (100B to 1MB)") { |list| @sizes = list.map { |text| size(text) } }
            parser.on("--workers A,B", Array, "processes that ask at once (1,2,4,8)") do |list|
              @processes = list.map { |text| count(text, "--workers") }
            end
            parser.on("--rounds N", "with fresh processes (2; quick 1)") { |text| @rounds = count(text, "--rounds") }
          end

          def expected_seconds = design.expected_seconds

          def plan_in_words
            "#{design.stores.join(", ")}: by entries (#{design.entries.join(", ")}), by bytes " \
              "(#{design.sizes.join(", ")}), by processes (#{design.processes.join(", ")}); #{design.rounds} x " \
              "#{design.configurations(0).size} fillings, about #{Report::Format.minutes(design.expected_seconds)}. " \
              "What the machine has no room for is left out when it comes to it."
          end

          def take(_comparisons)
            trial = Trial.new(design, seed: settings.seed, requires: settings.requires)
            run.try(trial, design.expected_seconds)
            run.table("growth", trial.rows, **design.to_h, crowd_entries: Design::CROWD_ENTRIES,
                                            crowd_bytes: Design::CROWD_BYTES, memory: Engine::ResidentMemory.kind)
          end

          # @return [Design] a factor that the user names is measured alone
          def design
            @design ||= begin
              base = settings.quick ? Design::QUICK : Design::FULL
              factors = { entries: @entries, sizes: @sizes, processes: @processes }
              factors = factors.transform_values(&:to_a) if factors.values.any?
              chosen = base.with(**factors.compact, **{ stores: @stores, entry_bytes: @entry_bytes,
                                                        rounds: @rounds }.compact)
              @most ? chosen.with(entries: chosen.entries.select { |entries| entries <= @most }) : chosen
            end
          end

          private

          def known!(name)
            return if Design::STORES.key?(name)
            raise UsageError, Catalogue.unknown("--store:", name, Design::STORES.keys)
          end

          def count(text, option)
            count = number(text.delete("_"), option).to_i
            count.positive? ? count : raise(UsageError, "#{option} #{text}: expected at least 1")
          end

          def size(text) = Values::SizedHTML.parse(text).approximate_bytes
        end
      end

      add Growth::Table
    end
  end
end
