# frozen_string_literal: true

require "digest"

module Tiercel
  module Lab
    module Simulator
      # A generator of traces: the same seed gives the same requests.
      #
      #   Workload.new(keys: 10_000, requests: 100_000, s: 1.0, overwrites: 0.1, value_bytes: 100..65_536).trace("1")
      class Workload
        DEFAULTS = {
          name: "workload",       # for tables
          keys: 100_000,          # different keys
          requests: 1_000_000,    # length of the trace
          s: 1.0,                 # exponent of the Zipf popularity; 0 is uniform
          shift_every: nil,       # requests after which popularity moves; nil for never
          shift_by: 0.1,          # share of the keys that popularity moves by
          scans: 0.0,             # share of requests that belong to scans
          scan_keys: 0.05,        # length of a scan as a share of the keys
          value_bytes: 1_000,     # Integer, or Range: log-uniform, one size for each key
          overwrites: 0.0,        # share of requests that write
          resize: 0.25,           # an overwrite changes the key's size by up to this share
          deletes: 0.0,           # share of requests that delete
          ttl: nil,               # seconds: Range, log-uniform, one for each key; nil for none
          without_ttl: 0.2,       # share of keys without one where `ttl` is given
          duration: 3_600.0,      # seconds from the first request to the last
        }.freeze

        # @return [String] name for tables
        attr_reader :name

        # @param options [Hash] see {DEFAULTS}
        # @raise [ArgumentError] if an option is not known
        def initialize(**options)
          unknown = options.keys - DEFAULTS.keys
          if unknown.any?
            raise ArgumentError, "workload: unknown #{unknown.map(&:inspect).join(", ")}, " \
                                 "expected #{DEFAULTS.keys.join(", ")}"
          end
          @options = DEFAULTS.merge(options)
          @name = @options[:name]
        end

        # @param options [Hash] the changed options
        # @return [Workload] a copy with the changes
        def with(**options) = self.class.new(**@options, **options)

        # @param name [Symbol] one of {DEFAULTS}
        # @return [Object] its value
        def [](name) = @options.fetch(name)

        # @param seed [String, Integer] a name: "1", "ci"
        # @return [Trace]
        def trace(seed)
          requests = Generator.new(@options, seed).requests
          seconds = self[:duration] / [self[:requests], 1].max
          Trace.new(requests, name: "#{name} seed #{seed}", seconds_per_request: seconds)
        end

        # Generates one trace. Each aspect has its own stream of random numbers: a workload with TTLs has the same keys
        # as the workload without TTLs.
        # @private
        class Generator
          def initialize(options, seed)
            @options = options
            @seed = seed.to_s
            @count = options[:keys]
            @choice = stream("choice")
            @popularity = stream("popularity")
            @places = (0...@count).to_a.shuffle(random: stream("places"))
            @names = Array.new(@count) { |id| format("key:%08d", id).freeze }
            @ttls = draw_ttls
            @sizes = draw_sizes
            @resizing = stream("resize")
            @reads = []
            @scan_left = @offset = 0
          end

          def requests
            @zipf = Zipf.new(@count, @options[:s])
            Array.new(@options[:requests]) do |index|
              shift if @options[:shift_every] && index.positive? && (index % @options[:shift_every]).zero?
              request
            end
          end

          private

          def stream(aspect) = Random.new(Digest::SHA256.hexdigest("#{aspect}/#{@seed}").to_i(16) % (1 << 64))

          def request
            return scan if @scan_left.positive? || begin_scan?
            id = @places[(@zipf.sample(@popularity) + @offset) % @count]
            draw = @choice.rand
            if draw < @options[:overwrites]
              overwrite(id)
            elsif draw < @options[:overwrites] + @options[:deletes]
              Request.delete(@names[id])
            else
              read(id)
            end
          end

          # Requests that read the same value share one object.
          def read(id) = @reads[id] ||= Request.read(@names[id], @sizes[id], @ttls[id]).freeze

          def overwrite(id)
            @reads[id] = nil
            factor = 1.0 + (@options[:resize] * ((2 * @resizing.rand) - 1))
            @sizes[id] = [(@sizes[id] * factor).round, 1].max.clamp(size_bounds)
            Request.write(@names[id], @sizes[id], @ttls[id])
          end

          # Moves the popularity along the keys, so that unpopular keys become the most popular ones.
          def shift = @offset = (@offset + (@options[:shift_by] * @count).round) % @count

          # A scan reads keys in the order of their names, from a random start.
          def begin_scan?
            share = @options[:scans]
            return false unless share.positive?
            length = [(@options[:scan_keys] * @count).round, 1].max
            # Of m beginnings, p*m are scans: share = p*length / (p*length + 1 - p).
            probability = share / (length - (share * (length - 1)))
            return false unless @choice.rand < probability
            @scan_left = length
            @scan_at = @choice.rand(@count)
          end

          def scan
            @scan_left -= 1
            id = @scan_at
            @scan_at = (@scan_at + 1) % @count
            read(id)
          end

          def size_bounds
            range = @options[:value_bytes]
            range.is_a?(Range) ? range : (range..range)
          end

          def draw_sizes
            random = stream("sizes")
            Array.new(@count) { log_uniform(size_bounds, random).round }
          end

          def draw_ttls
            range = @options[:ttl]
            return [] unless range
            random = stream("ttls")
            Array.new(@count) do
              ttl = log_uniform(range, random)
              random.rand < @options[:without_ttl] ? nil : ttl
            end
          end

          def log_uniform(range, random)
            low, high = Math.log(range.begin), Math.log(range.end)
            Math.exp(low + (random.rand * (high - low)))
          end
        end
        private_constant :Generator
      end
    end
  end
end
