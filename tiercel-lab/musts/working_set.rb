# frozen_string_literal: true

require "tiercel/lab/engine/outcome"
require "tiercel/lab/load/entries"
require "tiercel/lab/load/keys"

module Tiercel
  module Lab
    module Tables
      module Musts
        # One process that reads by Zipf's law, and writes what it misses: from a near segment over a database, and from
        # a database alone. The segment holds an eighth of all values, neither database all of them.
        class WorkingSet
          KEYS = 100_000
          VALUE_BYTES = 1_000
          EXPONENT = 1.0
          SEGMENT_SHARE = 1 / 8.0
          # Of what all entries take without the database's own pages: at its limit, nine of ten reads find something.
          DISK_SHARE = 1.2
          # Of an entry beside its value, roughly.
          BESIDE_BYTES = 100
          BATCH = 500

          # @param folders [Hash] "tmpfs" and "disk"
          # @param keys [Integer]
          # @return [Hash] see {Engine::Outcome.of}
          def open(folders:, seed:, keys: KEYS)
            @folders = folders.transform_keys(&:to_s)
            @seed = seed
            @keys = keys
            @entries = Load::Entries.new(label: "set", items: keys, bytes: VALUE_BYTES, seed:)
            @asked = Load::Keys.new(items: keys, kind: "zipf", exponent: EXPONENT, seed:)
            Engine::Outcome.of do
              @stores = { "tiers" => build("tiers", segment("first")), "alone" => build("alone") }
              @stores.each_value { |store| fill(store) }
            end
          end

          # The same reads of both, in turn: a slice of the one, then of the other, and the next time in reverse.
          #
          # @param reads [Integer] in a slice
          # @param slices [Integer] of each
          # @return [Hash] of each, for its slices: "us", the mean of a read; "hits"
          def run(reads:, slices:)
            Engine::Outcome.of do
              found = { "tiers" => [], "alone" => [] }
              slices.times do |slice|
                numbers = @asked.draw(reads)
                names = slice.even? ? found.keys : found.keys.reverse
                names.each { |name| found[name] << read(@stores[name], numbers) }
              end
              found.transform_values { |each| { us: each.map(&:first), hits: each.sum(&:last) } }
            end
          end

          # Has another segment in front of the same database: the old one is gone.
          #
          # @return [Hash] see {Engine::Outcome.of}
          def lose_segment
            Engine::Outcome.of do
              @stores["tiers"].backend.close
              @stores["tiers"] = build("tiers", segment("second"))
            end
          end

          # @return [true]
          def close
            @stores&.each_value { |store| store.backend.close }
            true
          end

          private

          def entry_bytes = VALUE_BYTES + BESIDE_BYTES

          def segment(name)
            size = [(@keys * entry_bytes * SEGMENT_SHARE).round, 1 << 20].max
            "shared:#{File.join(@folders["tmpfs"] || @folders["disk"], "set-#{name}.segment")}?size=#{size}&ttl=60"
          end

          def build(name, *near)
            size = [(@keys * entry_bytes * DISK_SHARE).round, 4 << 20].max
            database = "sqlite:#{File.join(@folders["disk"], "set-#{name}.sqlite3")}?size=#{size}&timeout=5"
            require "tiercel"
            ::Tiercel.new(*near, database, compress: false, error_handler: ->(exception:, **) { raise exception })
          end

          def fill(store)
            @entries.size.times.each_slice(BATCH) do |slice|
              store.write_multi(slice.to_h { |number| [name(number), @entries.value(number)] })
            end
          end

          # Misses are written after a slice, so that reads alone are timed.
          #
          # @return [Array(Float, Integer)] us a read, hits
          def read(store, numbers)
            names = numbers.map { |number| name(number) }
            found = Array.new(names.size)
            start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
            names.each_with_index { |name, index| found[index] = store.read(name) }
            seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
            numbers.each_with_index { |number, index| @entries.check(number, found[index], must: false) }
            missing = numbers.each_index.select { |index| found[index].nil? }.map { |index| numbers[index] }
            missing.uniq.each { |number| store.write(name(number), @entries.value(number)) }
            [seconds / numbers.size * 1e6, numbers.size - missing.size]
          end

          def name(number) = @entries.names[number]
        end
      end
    end
  end
end
