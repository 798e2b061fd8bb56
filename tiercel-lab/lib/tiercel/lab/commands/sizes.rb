# frozen_string_literal: true

require_relative "../documents/sizes"
require_relative "../table_command"

module Tiercel
  module Lab
    module Commands
      # The third article's tables: what a hit costs, by the size of the value.
      class Sizes < TableCommand
        called "sizes", "What a hit costs by the size of the value: memcached, Redis, files, SQLite, shared memory."
        example "sizes --quick", "sizes --dir /mnt/nfs/cache", "sizes --size 300KB,2MB --store file_store:disk"

        STORES = %w[mem_cache_store mem_cache_store#compress=false mem_cache_store_as_shipped#compress=false
                    redis_cache_store file_store:tmpfs file_store:disk tiercel:file: tiercel:sqlite: tiercel:shared:
                    memory_store].freeze
        QUICK_STORES = STORES - %w[mem_cache_store#compress=false tiercel:file:]
        VALUES = %w[html-100b html-2kb html-10kb html-100kb html-822kb html-1mb pair].freeze
        # The article's two sizes and its records, and what does not fit into an item of memcached's.
        QUICK_VALUES = %w[html-2kb pair html-822kb html-1mb].freeze
        QUICK_BLOCKS = 3
        FULL = Protocol::FULL.vary(processes: 4, most_processes: 8, blocks: 6, budget_seconds: 210)

        def self.document(results, command:) = Documents::Sizes.new(results, command:).build

        def options(parser)
          parser.on("--size A,B", Array, "sizes of HTML, such as 2KB,822KB,3MB") do |texts|
            values.concat(texts.map { |text| sized(text) })
          end
          parser.on("--value A,B", Array, "of #{Values.names.join(", ")}") do |names|
            values.concat(names.map { |name| Values.fetch(name) })
          end
          parser.on("--dir DIR", "repeatable: a FileStore in a folder of yours, such as an NFS mount") do |path|
            directories << folder(path)
          end
          parser.on("--store STORE", "repeatable; default: #{STORES.join(", ")}") do |text|
            (@stores ||= []) << Contestants.parse(text)
          end
        end

        def plan
          contestants = self.contestants
          chosen_values.map do |value|
            Comparison.of(value:, operation: Operations.fetch("fetch"), contestants:, baseline: contestants.first)
          end
        end

        def take(comparisons)
          @measurement = session.measure(comparisons, protocol:)
          session.recorder.table("sizes", comparisons.map { |comparison| described(comparison.value) })
        end

        # That memcached as it is shipped refuses large items is a finding, not a fault.
        def exit_code
          wrong = results["cells"].any? do |cell|
            ["misses", "wrong values"].include?(cell["status"]) && !Documents::Sizes.refused?(cell)
          end
          wrong ? ExitCodes::WRONG_VALUES : ExitCodes::OK
        end

        private

        def protocol = settings.quick ? settings.protocol.vary(blocks: QUICK_BLOCKS) : FULL

        def values = @values ||= []
        def directories = @directories ||= []

        # A size that the lab knows keeps its name, so that runs can be compared.
        def sized(text)
          value = Values::SizedHTML.parse(text)
          Values.known?(value.name) ? Values.fetch(value.name) : value
        end

        def folder(path)
          full = File.expand_path(path)
          raise UsageError, "--dir #{path}: there is no such folder" unless File.directory?(full)
          raise UsageError, "--dir #{path}: not writable" unless File.writable?(full)
          full
        end

        def contestants
          stores = @stores || (settings.quick ? QUICK_STORES : STORES).map { |text| Contestants.parse(text) }
          own = directories.map { |path| Contestants.parse("file_store:#{path}") }
          [*stores, *own, *settings.urls].uniq(&:name)
        end

        def chosen_values
          return [Values::Files.new(directory: settings.data), *values] if settings.data
          return values.uniq(&:name) if values.any?
          (settings.quick ? QUICK_VALUES : VALUES).map { |name| Values.fetch(name) }
        end

        def described(value)
          value.describe.merge("bytes" => value.approximate_bytes, "html" => value.is_a?(Values::HTML))
        end
      end

      add Sizes
    end
  end
end
