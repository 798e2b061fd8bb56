# frozen_string_literal: true

require "tiercel/lab/engine/outcome"
require "tiercel/lab/load/entries"
require "tiercel/lab/load/keys"

module Tiercel
  module Lab
    module Tables
      module Musts
        # A process that reads with a Zipf distribution and writes after misses: from a segment in front of a database,
        # and from a database alone. The segment has room for an eighth of the values, and neither database for all of
        # them.
        class WorkingSet
          KEYS = 100_000
          VALUE_BYTES = 1_000
          EXPONENT = 1.0
          SEGMENT_SHARE = 1 / 8.0
          # Size of the databases as a share of all entries, without the database's own pages. At this limit nine of ten
          # reads hit.
          DISK_SHARE = 1.2
          # Estimated size of an entry besides its value.
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

          # Makes the same reads on both stores: a slice on one, then on the other, and the next time in reverse.
          #
          # @param reads [Integer] number of reads in a slice
          # @param slices [Integer] number of slices of each arm
          # @return [Hash] for each store and its slices: "us", mean time of a read; "hits"
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

          # Puts a new segment in front of the same database, as after the loss of the old one.
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

          # Writes missing entries after the slice, so that only reads are timed.
          #
          # @return [Array(Float, Integer)] microseconds of a read, and hits
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
