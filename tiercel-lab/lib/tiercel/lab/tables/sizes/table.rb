# frozen_string_literal: true

require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # The tables of the third article: the cost of a hit by the size of the value.
      module Sizes
        class Table < Tables::Table
          called "sizes", "The cost of a hit by the size of the value."
          example "sizes --quick", "sizes --dir /mnt/nfs/cache", "sizes --size 300KB,2MB --store file_store:disk"
          takes :quick, :seed, :cells, :data, :url
          in_all 70, weight: 2 # as for client
          quick blocks: 3
          full processes: 4, most_processes: 8, blocks: 6, budget_seconds: 210

          STORES = %w[mem_cache_store mem_cache_store#compress=false mem_cache_store_as_shipped#compress=false
                      redis_cache_store file_store:tmpfs file_store:disk tiercel:file: tiercel:sqlite: tiercel:shared:
                      memory_store].freeze
          QUICK_STORES = STORES - %w[mem_cache_store#compress=false tiercel:file:]
          VALUES = %w[html-100b html-2kb html-10kb html-100kb html-822kb html-1mb pair].freeze
          # The article's two sizes and its records, and a value above memcached's item limit.
          QUICK_VALUES = %w[html-2kb pair html-822kb html-1mb].freeze

          def options(parser)
            parser.on("--size A,B", Array, "sizes of HTML, such as 2KB,822KB,3MB") do |texts|
              (@values ||= []).concat(texts.map { |text| sized(text) })
            end
            value_option(parser)
            parser.on("--dir DIR", "repeatable: FileStore in your folder, such as an NFS mount") do |path|
              (@directories ||= []) << Folder.check("--dir #{path}", path)
            end
            store_option(parser, default: "ten, see `lab sizes --plan`")
          end

          def plan
            values = chosen_values(settings.quick ? QUICK_VALUES : VALUES)
            comparisons_of(values, [Operations.fetch("fetch")], contestants)
          end

          def take(comparisons)
            super
            run.table("sizes", comparisons.map { |comparison| described(comparison.value) },
                      directories: @directories.to_a)
          end

          private

          # A memcached with default options refuses large items. This is a finding, not a fault.
          def fault?(row) = super && !View.refused?(row)

          # A known size keeps its name, so that runs can be compared.
          def sized(text)
            value = Values::SizedHTML.parse(text)
            Values.known?(value.name) ? Values.fetch(value.name) : value
          end

          def contestants
            stores = @stores || parse_all(settings.quick ? QUICK_STORES : STORES)
            [*stores, *parse_all(@directories.to_a.map { |path| "file_store:#{path}" }), *settings.urls].uniq(&:name)
          end

          def described(value)
            value.describe.merge("bytes" => value.approximate_bytes, "html" => value.is_a?(Values::HTML))
          end
        end
      end

      add Sizes::Table
    end
  end
end
