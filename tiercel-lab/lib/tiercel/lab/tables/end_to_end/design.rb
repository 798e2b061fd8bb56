# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module EndToEnd
        # The measured combinations, and their layers alone.
        class Design
          # The first of each list is the default of Rails. A quick run varies one factor at a time from these defaults.
          SERIALIZERS = %w[marshal as_message_pack as_json oj paquito auto].freeze
          COMPRESSORS = %w[zlib none brotli zstd snappy lz4_flex].freeze
          STORES = %w[mem_cache_store redis_cache_store file_store:tmpfs memory_store tiercel:memcached: tiercel:redis:
                      tiercel:shared: tiercel:sqlite:].freeze
          # The first value, which every serializer keeps, is measured with all combinations; the others vary one factor
          # at a time.
          VALUES = %w[rows-50 books].freeze

          QUICK = { serializers: %w[marshal as_message_pack auto], compressors: %w[zlib none zstd lz4_flex],
                    stores: %w[mem_cache_store redis_cache_store file_store:tmpfs memory_store tiercel:memcached:
                              tiercel:shared: tiercel:sqlite:],
                    values: %w[rows-50] }.freeze
          FULL = { serializers: SERIALIZERS, compressors: COMPRESSORS, stores: STORES, values: VALUES }.freeze

          # The advice of the first article, which differs from Rails' defaults in two factors.
          ADVICE = %w[as_message_pack lz4_flex mem_cache_store].freeze

          # The raw sockets, by their servers.
          WIRES = { memcached: "memcached", redis: "redis" }.freeze
          WAYS = { "end_to_end_read" => %w[load inflate wire_get],
                   "end_to_end_write" => %w[dump deflate wire_set] }.freeze

          # @param quick [Boolean] one factor is varied from the default, instead of the full product
          # @param given [Hash] the user's choices: :serializers, :compressors, :stores (Strings), :values; each chosen
          #   value has the full product
          def initialize(quick:, **given)
            @quick = quick
            @named = given.key?(:values)
            @levels = (quick ? QUICK : FULL).merge(given)
          end

          # @return [Array<Comparison>] for each value and way the stores, then the layers alone
          def comparisons
            values.product(WAYS.to_a).flat_map do |value, (operation, (serialize, compress, wire))|
              [*stores(value, operation), layers(value, serialize, compress, wire)]
            end
          end

          # @param value [Value]
          # @return [Array<Array(String, String, String)>] serializer, compressor, store
          def combinations(value = values.first)
            axes = @levels.values_at(:serializers, :compressors, :stores)
            return axes.first.product(*axes.drop(1)) unless one_factor?(value)
            base = axes.map(&:first)
            varied = axes.each_with_index.flat_map do |levels, axis|
              levels.map { |level| base.dup.tap { |combination| combination[axis] = level } }
            end
            advice = ADVICE if axes.zip(ADVICE).all? { |levels, level| levels.include?(level) }
            [*varied, *([advice] if advice)].uniq
          end

          private

          def one_factor?(value) = @quick || (!@named && value.name != VALUES.first)

          def values = @levels[:values].map { |value| value.is_a?(Value) ? value : Values.fetch(value) }

          # Combinations that vary one factor are in one comparison. A full product has hundreds, so each store has a
          # comparison of its own.
          def stores(value, operation)
            found = combinations(value)
            groups = one_factor?(value) ? [found] : found.group_by(&:last).values
            groups.map do |group|
              contestants = group.map { |combination| contestant("combined", *combination) }
              Engine::Comparison.of(value:, operation: Operations.fetch(operation), contestants:,
                                    baseline: contestants.first)
            end
          end

          def layers(value, serialize, compress, wire)
            first, *others = alone(combinations(value), serialize, compress, wire)
            Engine::Comparison.between(value:, baseline: first, others:)
          end

          def alone(combinations, serialize, compress, wire)
            pairs = combinations.map { |serializer, compressor, _store| [serializer, compressor] }.uniq
            [*pairs.map(&:first).uniq.map { |name| ["serializer:#{name}", serialize] },
             *pairs.reject { |_, compressor| compressor == "none" }
                   .map { |serializer, compressor| ["compressor:#{compressor}#serializer=#{serializer}", compress] },
             *wires(combinations).map { |text| [text, wire] }].map do |text, operation|
               [Contestants.parse(text), Operations.fetch(operation)]
             end
          end

          def wires(combinations)
            combinations.flat_map { |serializer, compressor, store|
              Contestants.parse(store).servers.filter_map do |server|
                "wire:#{WIRES[server]}#serializer=#{serializer},compressor=#{compressor}" if WIRES.key?(server)
              end
            }.uniq
          end

          def contestant(type, serializer, compressor, store)
            Contestants.parse("#{type}:#{store}#serializer=#{serializer},compressor=#{compressor}")
          end
        end
      end
    end
  end
end
