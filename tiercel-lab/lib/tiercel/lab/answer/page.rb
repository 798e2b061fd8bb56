# frozen_string_literal: true

require "yaml"
require_relative "../errors"
require_relative "../values"

module Tiercel
  module Lab
    module Answer
      # The page whose cache calls an answer adds up: an assumed one, or one that `tiercel-insight` recorded from a
      # running application (`bin/rails cache:profile FILE`).
      #
      # - `reads`: by the name of a value; `misses`: share of the reads that miss, each with a write
      # - `miss_us`: time of the block of a miss; 0 if unknown
      # - `round_trip_us`: of a call to a server on another machine
      # - `shrunk`: share of the reads that miss with a part of the memory, `[[0.125, 0.31], ...]`; empty if unknown
      # - `source`: the profile's file; nil for the assumed page
      Page = Data.define(:reads, :misses, :miss_us, :round_trip_us, :shrunk, :source) do
        # @return [Hash{String => Object}] the form of the results file
        def record = to_h.transform_keys(&:to_s)

        # A store in each process divides the memory, so its processes hold less and miss more often.
        #
        # @param part [Float] of the memory
        # @return [Float] share of the reads that miss
        def misses_with(part)
          return misses if part >= 1 || shrunk.empty?
          shrunk.min_by { |factor, _| (Math.log(factor) - Math.log(part)).abs }.last
        end

        def values = reads.keys

        # @return [String]
        def miss_words
          return "" if misses.zero?
          "one read in #{(1 / misses).round} is missed and written" \
            "#{"; a miss takes #{Report::Format.duration(miss_us / 1e6)} more" if miss_us.positive?}"
        end
      end

      class Page
        # Values for the sizes of a profile, by size.
        SIZED = %w[string-100b html-1kb html-2kb html-10kb html-24kb html-100kb html-822kb].freeze
        ASSUMED = new(reads: { "string-100b" => 20.0, "html-2kb" => 20.0, "html-24kb" => 3.0, "rows-50" => 1.0,
                               "books" => 1.0 }, misses: 0.05, miss_us: 0.0, round_trip_us: 500.0, shrunk: [],
                      source: nil)
        VERSION = 1

        class << self
          # @param record [Hash{String => Object}, nil] a record from {#record}
          def from(record) = record ? new(**record.transform_keys(&:to_sym)) : ASSUMED

          # @param path [String]
          # @return [Page]
          # @raise [UsageError]
          def read(path)
            facts = YAML.safe_load_file(path)
            raise UsageError, "--profile #{path}: expected version: #{VERSION}" unless facts.is_a?(Hash) &&
                                                                                     facts["version"] == VERSION
            reads = positive(facts["reads_per_request"], path, "reads_per_request")
            hits = facts["hit_ratio"]
            unless hits.is_a?(Numeric) && hits.between?(0, 1)
              raise UsageError, "--profile #{path}: hit_ratio: expected a number from 0 to 1"
            end
            new(reads: sizes(facts["values"], reads, path), misses: 1.0 - hits, source: path,
                miss_us: facts.dig("miss_ms", "mean").to_f * 1e3,
                round_trip_us: facts.fetch("round_trip_ms", ASSUMED.round_trip_us / 1e3).to_f * 1e3,
                shrunk: Array(facts["worth"]).map { |one| one.values_at("factor", "miss_ratio") })
          rescue SystemCallError, Psych::Exception => e
            raise UsageError, "--profile #{path}: #{e.message.lines.first.strip}"
          end

          private

          def positive(number, path, name)
            return number.to_f if number.is_a?(Numeric) && number.positive?
            raise UsageError, "--profile #{path}: #{name}: expected a number > 0"
          end

          # Each size counts as the lab's value of the nearest size.
          def sizes(values, reads, path)
            found = Array(values).select { |one| one.is_a?(Hash) && one["bytes"].to_f.positive? }
            raise UsageError, "--profile #{path}: values: expected sizes, such as [{bytes: 2048, share: 1.0}]" if
              found.empty?
            total = found.sum { |one| one.fetch("share", 1.0).to_f }
            found.each_with_object(Hash.new(0.0)) { |one, sums|
              sums[nearest(one["bytes"])] += reads * one.fetch("share", 1.0).to_f / total
            }.to_h
          end

          def nearest(bytes)
            SIZED.min_by { |name| (Math.log(Values.fetch(name).approximate_bytes) - Math.log(bytes)).abs }
          end
        end
      end
    end
  end
end
