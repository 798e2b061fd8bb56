# frozen_string_literal: true

module Tiercel
  module Lab
    module EndToEnd
      # The time of one combination, split: what its layers take alone, and what is left of the whole.
      class Split
        PARTS = %w[serialize compress client wire server].freeze
        SERVERS = { /\A(mem_cache_store|tiercel:memcached:)\z/ => "memcached",
                    /\A(redis_cache_store|tiercel:redis:)\z/ => "redis" }.freeze

        # @param whole [Hash] the cell of the combination
        # @param cells [Array<Hash>] of the same value; the layers alone among them
        # @param way [String] "end_to_end_read" or "end_to_end_write"
        def initialize(whole, cells, way)
          @whole = whole
          @cells = cells
          @serialize, @compress, @wire = Design::WAYS.fetch(way)
          @parts = whole["contestant"]
        end

        # Serializer, compressor and client by CPU time, which other programs do not touch; the wire by the wall clock,
        # as it waits. So on a busy machine the sum is less than the whole took.
        #
        # @return [Hash{String => Float}, nil] microseconds by part; nil if a layer could not be measured. What a store
        #   in this process does is the client's.
        def us
          serialize = cpu_of(@serialize, @parts["serializer"])
          layers = [serialize, compress, socket_cpu]
          return if layers.any?(&:nil?)
          server = [server_us, socket_wall].min
          { "serialize" => serialize, "compress" => compress, "client" => [cpu_us(@whole) - layers.sum, 0.0].max,
            "wire" => socket_wall - server, "server" => server }
        end

        private

        def compress
          @parts["compressor"] == "none" ? 0.0 : cpu_of(@compress, "#{@parts["compressor"]} of #{@parts["serializer"]}")
        end

        def server = SERVERS.find { |pattern, _name| @parts["store"].match?(pattern) }&.last

        def socket = (cell(@wire, "wire #{server} #{@parts["serializer"]} #{@parts["compressor"]}") if server)

        def socket_cpu
          return 0.0 unless server
          cpu_us(socket) if socket
        end

        def socket_wall = socket ? socket["summary"]["ns"]["estimate"] / 1e3 : 0.0

        # The median of the processes.
        def server_us
          figures = socket&.dig("exact", "server_ns").to_a.sort
          figures.empty? ? 0.0 : figures[figures.size / 2] / 1e3
        end

        def cpu_of(operation, name) = cell(operation, name)&.then { |found| cpu_us(found) }

        # The median of the slices: process, block, position, calls, ns, gc_ns, cpu_ns, compiled.
        def cpu_us(cell)
          figures = cell["slices"].map { |slice| (slice[6] - slice[5]).fdiv(slice[3]) / 1e3 }.sort
          figures[figures.size / 2]
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
