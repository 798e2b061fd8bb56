# frozen_string_literal: true

require_relative "../../engine/resident_memory"
require_relative "../table"
require_relative "design"
require_relative "trial"
require_relative "view"

module Tiercel
  module Lab
    module Tables
      # The first article's claim: with several workers a shared cache beats one in each process.
      module Workers
        class Table < Tables::Table
          called "workers", "One cache for all workers, or one in each, at equal bytes."
          example "workers --quick", "workers --workers 1,2,4,8,16 --miss-ms 20",
                  "workers --total 256MB --store memory_store,tiercel:shared:",
                  "workers --store 'tiercel:shared: sqlite:',tiercel:sqlite:"
          takes :quick, :seed, :require
          in_all 20

          def options(parser)
            parser.on("--workers A,B", Array, "how many (1,2,4,8)") do |list|
              @counts = list.map { |text| number(text, "--workers").to_i }
            end
            parser.on("--store A,B", Array, "of #{Design::STORES.keys.join(", ")}") do |names|
              @stores = names.each do |name|
                next if Design::STORES.key?(name)
                raise UsageError, Catalogue.unknown("--store:", name, Design::STORES.keys)
              end
            end
            parser.on("--total SIZE", "for all workers together (32MB)") { |text| @total_bytes = size(text) }
            parser.on("--zipf S", "exponent of the load (1.0)") { |text| @zipf = number(text, "--zipf") }
            parser.on("--requests N", "of all workers together (24000)") do |text|
              @requests = number(text, "--requests").to_i
            end
            parser.on("--miss-ms MS", "what a miss's block would take (1); computed, nobody waits") do |text|
              @miss_ms = number(text, "--miss-ms")
            end
          end

          def expected_seconds = design.expected_seconds

          def plan_in_words
            "#{design.stores.join(", ")} with #{design.counts.join(", ")} workers: " \
              "#{design.rounds} x #{design.configurations.size} loads of #{design.warm_up} + #{design.requests} " \
              "requests, about #{Report::Format.minutes(design.expected_seconds)}."
          end

          def take(_comparisons)
            trial = Trial.new(design, seed: settings.seed, requires: settings.requires)
            run.try(trial, design.expected_seconds)
            run.table("workers", trial.rows, **design.to_h, items: design.items, memory: Engine::ResidentMemory.kind)
          end

          # @return [Design]
          def design
            @design ||= begin
              stores = Design.controlled(@stores) if @stores
              given = { counts: @counts, stores:, total_bytes: @total_bytes, zipf: @zipf, requests: @requests,
                        miss_ms: @miss_ms }
              (settings.quick ? Design::QUICK : Design::FULL).with(**given.compact)
            end
          end

          private

          def size(text) = Values::SizedHTML.parse(text).approximate_bytes
        end
      end

      add Workers::Table
    end
  end
end
