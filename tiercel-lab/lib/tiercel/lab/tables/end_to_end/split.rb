# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module EndToEnd
        # Splits the time of a combination: the times of its layers alone, and the rest of the whole call. If the
        # figures do not add up, there is a reason in place of a split.
        class Split
          PARTS = %w[serialize compress client wire server].freeze
          SERVERS = { /\A(mem_cache_store|tiercel:memcached:)\z/ => "memcached",
                      /\A(redis_cache_store|tiercel:redis:)\z/ => "redis" }.freeze
          # Fields of a slice, see {Engine::Cell::Slice}.
          PROCESS, CALLS, NS, GC_NS, CPU_NS, SERVER_NS = 0, 3, 4, 5, 6, 8

          # @return [String, nil] why there is no split
          attr_reader :reason

          # @param whole [Hash] a cell, as the results hold it
          # @param cells [Array<Hash>] cells of the same value, among which this class finds the layers
          # @param way [String] one of {Design::WAYS}
          def initialize(whole, cells, way)
            @whole = whole
            @cells = cells
            @serialize, @compress, @wire = Design::WAYS.fetch(way)
            @parts = whole["contestant"]
          end

          # Serializer, compressor and client are measured by CPU time, which other programs do not affect. The wire is
          # wall-clock time of the socket, less the server's CPU time in the same slices.
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
            client = cpu_us(@whole) - layers.sum
            return cannot("its layers take longer alone than the whole") if client.negative?
            { "serialize" => layers[0], "compress" => layers[1], "client" => client, "wire" => wire,
              "server" => served }
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
            wire.negative? ? cannot("the server took more CPU time than the call") : [wire, served]
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
      end
    end
  end
end
