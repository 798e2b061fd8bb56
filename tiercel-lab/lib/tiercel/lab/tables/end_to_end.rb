# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # The conclusion of the first article: every serializer, compressor and store together, and where the time goes.
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

      # Splits the time of a combination: the times of its layers alone, and the rest of the whole call. A
      # layer that was not measured is a reason in place of a split.
      class Split
        PARTS = %w[serialize compress client wire server].freeze
        SERVERS = { /\A(mem_cache_store|tiercel:memcached:)\z/ => "memcached",
                    /\A(redis_cache_store|tiercel:redis:)\z/ => "redis" }.freeze
        # Fields of a slice, see {Engine::Cell::Slice}.
        PROCESS, CALLS, NS, GC_NS, CPU_NS, SERVER_NS = 0, 3, 4, 5, 6, 8

        NOTES = { "client" => "Alone, the other layers take %d %% more CPU time than the whole call.",
                  "wire" => "The server's CPU time is %d %% more than the call's." }.freeze

        # @return [String, nil] why there is no split
        attr_reader :reason
        # @return [Hash{String => String}] why a part is zero, by its name
        attr_reader :notes

        # @param whole [Hash] a cell, in the form of the results file
        # @param cells [Array<Hash>] cells of the same value, among which this class finds the layers
        # @param way [String] one of {Design::WAYS}
        def initialize(whole, cells, way)
          @whole = whole
          @cells = cells
          @serialize, @compress, @wire = Design::WAYS.fetch(way)
          @parts = whole["contestant"]
          @notes = {}
        end

        # Serializer, compressor and client are measured by CPU time, which other programs do not affect. The time of
        # the wire is the socket's wall-clock time minus the server's CPU time in the same slices.
        #
        # @return [Hash{String => Float}, nil] microseconds by {PARTS}; nil if there is a {#reason}
        def us
          @us ||= parts unless reason
        end

        # Divides CPU time by CPU time, with intervals over processes. A share of wall-clock time would include
        # waiting for the server and for other programs.
        #
        # @return [Statistics::Interval, nil] share of the serializer and compressor in the CPU time of the whole call
        def own_share
          alone = [cell(@serialize, @parts["serializer"])]
          alone << cell(@compress, compressor_name) unless @parts["compressor"] == "none"
          return if alone.any?(&:nil?)
          alone.map { |layer| cpu_interval(layer) }.reduce { |one, other| one.plus(other) }.over(cpu_interval(@whole))
        end

        private

        def parts
          layers = [cpu_of(@serialize, @parts["serializer"]), compress, server ? socket_cpu : 0.0]
          wire, served = server ? ways : [0.0, 0.0]
          return if reason
          client = rest("client", cpu_us(@whole), layers.sum)
          { "serialize" => layers[0], "compress" => layers[1], "client" => client, "wire" => wire, "server" => served }
        end

        # A layer alone and the whole call ran in separate slices, and a whole call may take a shorter way. The rest of
        # the call is then zero, with a note.
        def rest(part, whole, layers)
          @notes[part] = format(NOTES.fetch(part), (100 * ((layers / whole) - 1)).round) if layers > whole
          [whole - layers, 0.0].max
        end

        def cannot(reason) = (@reason ||= reason) && nil

        def compress
          return 0.0 if @parts["compressor"] == "none"
          cpu_of(@compress, compressor_name)
        end

        def compressor_name = "#{@parts["compressor"]} of #{@parts["serializer"]}"

        # @return [String, nil] nil for a store in this process, whose time is the client's
        def server = SERVERS.find { |pattern, _name| @parts["store"].match?(pattern) }&.last

        def socket_name = "wire #{server} #{@parts["serializer"]} #{@parts["compressor"]}"

        def socket_cpu = cpu_of(@wire, socket_name)

        # Takes the medians of the same slices in each process, then the median of the processes.
        def ways
          slices = cell(@wire, socket_name)&.fetch("slices") or return
          return cannot("the server's CPU time is not known here") unless slices.all? { |slice| slice[SERVER_NS] }
          pairs = slices.group_by { |slice| slice[PROCESS] }.values.map do |of_process|
            walls = of_process.map { |slice| (slice[NS] - slice[GC_NS]).fdiv(slice[CALLS]) / 1e3 }
            served = of_process.map { |slice| slice[SERVER_NS].fdiv(slice[CALLS]) / 1e3 }
            [Statistics.median(walls) - Statistics.median(served), Statistics.median(served)]
          end
          wire, served = pairs.transpose.map { |figures| Statistics.median(figures) }
          [rest("wire", wire + served, served), served]
        end

        def cpu_of(operation, name)
          found = cell(operation, name)
          found ? cpu_us(found) : cannot("#{name} was not measured alone")
        end

        def cpu_us(cell) = Statistics.median(cell["slices"].map { |slice| slice_us(slice) })

        def slice_us(slice) = (slice[CPU_NS] - slice[GC_NS]).fdiv(slice[CALLS]) / 1e3

        def cpu_interval(cell)
          processes = cell["slices"].group_by { |slice| slice[PROCESS] }.values
          Statistics::MedianInterval.of_times(processes.map { |slices| slices.map { |slice| slice_us(slice) } })
        end

        def cell(operation, name)
          @cells.find do |cell|
            cell["operation"] == operation && cell["contestant"]["name"] == name && cell["status"] == "measured" &&
              cell["summary"]
          end
        end
      end

      class Table < Tables::Table
        called "end-to-end", "Serializer, compressor and store together: where time goes."
        example "end-to-end --quick", "end-to-end",
                "end-to-end --serializer marshal,auto --compressor none,zstd --store mem_cache_store",
                "end-to-end --value rows-50"
        takes :quick, :seed, :cells, :data
        in_all 50
        # There are about 800 cells, and building and checking them takes longer than timing them. So there are few
        # processes, and only two blocks.
        quick processes: 6, blocks: 2, slice_ns: 6_000_000, budget_seconds: 60
        full processes: 4, most_processes: 8, blocks: 2, slice_ns: 6_000_000, budget_seconds: 720

        def options(parser)
          things parser, "--serializer", Serialization, :serializers, "see `help serializers`"
          things parser, "--compressor", Compression, :compressors, "see `help compressors`"
          store_option(parser, default: Design::STORES.join(", "))
          value_option(parser, default: Design::VALUES.join(", "))
        end

        def plan
          values = settings.data ? chosen_values([], parse: true) : @values
          named = facts_given.transform_values { |things| things.map(&:name) }
          Design.new(quick: settings.quick, **named, **{ stores: @stores&.map(&:text), values: }.compact).comparisons
        end
      end

      # Shows every combination of serializer, compressor and store, and where the
      # time goes: a table for each value and operation.
      class View < Tables::View
        article(/\AEnd to end: /)

        WAYS = { "end_to_end_read" => "reads", "end_to_end_write" => "writes" }.freeze

        def title = "End to end: serializer, compressor and store together"

        def sentence
          (value, operation), wholes = first_measured
          return "Nothing could be measured." unless value
          best = leader(wholes).to_s { |cell| "#{words(cell)} (#{spent(cell)})" }
          first = wholes.find { |cell| measured?(cell) }
          "#{title_of(value)}, #{WAYS.fetch(operation)}: #{best}; #{words(first)}, which is what Rails does " \
            "unasked, takes #{spent(first)}#{share(first)}."
        end

        def fill(document)
          groups.each { |(value, operation), wholes| add(document, value, operation, wholes) }
        end

        # Describes the factors that varied.
        #
        # @return [String]
        def reach
          base = words(groups.values.first.first)
          return "One factor at a time is varied from #{base}, and the article's advice is added. " if quick?
          return "" if groups.values.map(&:size).uniq.one?
          "All combinations are measured on #{title_of(groups.keys.first.first)}; on other values one factor at a " \
            "time is varied from #{base}. "
        end

        private

        def groups
          @groups ||= cells.select { |cell| WAYS.key?(cell["operation"]) }.group_by do |cell|
            cell.values_at("value", "operation")
          end
        end

        def first_measured = groups.find { |_key, found| found.any? { |cell| measured?(cell) } }

        def words(cell) = cell["contestant"].values_at("store", "serializer", "compressor").join(" + ")

        def share(cell)
          share = split(cell).own_share or return ""
          percent = Report::Cell.interval(share.map { |part| part * 100 }, unit: "%")
          "; serializer and compressor alone take #{percent} of its CPU time"
        end

        def heading(value, operation) = "End to end: #{WAYS.fetch(operation)}, #{title_of(value)}"

        def add(document, value, operation, wholes)
          document.section("#{title_of(value)}: #{WAYS.fetch(operation)}") do |section|
            section.text(method_text) if groups.keys.first == [value, operation]
            section.add(table(value, operation, wholes))
          end
        end

        def method_text
          "#{reach}`serialize` and `compress` were measured alone on the same values; `wire` and `server` are the " \
            "same bytes through a raw socket, of which `server` is CPU time of the server's process; `client` is " \
            "the CPU time that is left of the whole call, and where the store is in this process, the store."
        end

        def table(value, operation, wholes)
          factors = %w[store serializer compressor].to_h { |axis| [axis, ->(cell) { cell["contestant"][axis] }] }
          parts = Split::PARTS.to_h { |part| [part, ->(cell) { part_of(cell, part) }] }
          cell_table(heading(value, operation), wholes,
                     { **factors, "time" => :time, "ratio" => :ratio, "bytes" => :bytes, **parts },
                     labels: 3,
                     note: "Microseconds a call; ratios are to the first row of the same comparison.")
        end

        def part_of(cell, part)
          split = split(cell)
          return Report::Cell.number(split.us[part], unit: "us", note: split.notes[part]) if split.us
          Report::Cell.missing("cannot split: #{split.reason}")
        end

        def split(cell)
          (@splits ||= {}.compare_by_identity)[cell] ||= begin
            same_value = results["cells"].select { |other| other["value"] == cell["value"] }
            Split.new(cell, same_value, cell["operation"])
          end
        end
      end
    end
  end
end
