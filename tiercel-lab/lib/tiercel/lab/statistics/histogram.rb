# frozen_string_literal: true

module Tiercel
  module Lab
    module Statistics
      # Counts non-negative Integers (nanoseconds, bytes) in log-linear buckets: exact below 2**{PRECISION_BITS}, then
      # 2**(PRECISION_BITS - 1) equal buckets for each power of two. A quantile is at most 1 / 128 too high.
      # HdrHistogram has the same layout. Histograms merge by adding their counts.
      class Histogram
        PRECISION_BITS = 8
        HALF = 1 << (PRECISION_BITS - 1)

        # @return [Integer] number of recorded values
        attr_reader :count
        # @return [Integer, nil] exact
        attr_reader :min
        # @return [Integer, nil] exact
        attr_reader :max
        # @return [Integer] exact
        attr_reader :sum

        # @param hash [Hash] a Hash from {#to_h}, or from its JSON
        # @return [Histogram]
        def self.from_h(hash)
          hash = hash.transform_keys(&:to_s)
          new.tap { |histogram| histogram.send(:load, hash) }
        end

        def initialize
          @counts = Hash.new(0)
          @count = 0
          @sum = 0
        end

        # @param value [Integer] 0 or more
        # @param times [Integer]
        # @return [self]
        # @raise [ArgumentError] if the value is negative
        def record(value, times = 1)
          raise ArgumentError, "histogram value #{value.inspect}: expected 0 or more" if value.negative?
          value = value.to_i
          @counts[bucket(value)] += times
          @count += times
          @sum += value * times
          @min = value if @min.nil? || value < @min
          @max = value if @max.nil? || value > @max
          self
        end

        # @param other [Histogram]
        # @return [self] with the added counts
        def merge!(other)
          other.send(:counts).each { |index, times| @counts[index] += times }
          @count += other.count
          @sum += other.sum
          @min = [@min, other.min].compact.min
          @max = [@max, other.max].compact.max
          self
        end

        # @param share [Float] 0.0 to 1.0
        # @return [Integer, nil] the highest value that its bucket can hold, never above {#max}; nil if empty
        def quantile(share)
          return nil if @count.zero?
          wanted = [(share * @count).ceil, 1].max
          seen = 0
          @counts.keys.sort.each do |index|
            seen += @counts[index]
            return [highest(index), @max].min if seen >= wanted
          end
          @max
        end

        # @return [Float, nil] exact
        def mean = @count.zero? ? nil : @sum.fdiv(@count)

        # @return [Hash{String => Object}] for JSON: "counts" by bucket number, and the exact figures
        def to_h
          { "precision_bits" => PRECISION_BITS, "count" => @count, "sum" => @sum, "min" => @min, "max" => @max,
            "counts" => @counts.sort.to_h.transform_keys(&:to_s) }
        end

        private

        attr_reader :counts

        def load(hash)
          unless hash["precision_bits"] == PRECISION_BITS
            raise ArgumentError, "histogram of #{hash["precision_bits"].inspect} precision bits: " \
                                 "expected #{PRECISION_BITS}"
          end
          hash["counts"].each { |index, times| @counts[index.to_i] = times }
          @count, @sum, @min, @max = hash.values_at("count", "sum", "min", "max")
        end

        def bucket(value)
          shift = value.bit_length - PRECISION_BITS
          shift.positive? ? (shift * HALF) + (value >> shift) : value
        end

        def highest(index)
          return index if index < 2 * HALF
          shift = (index / HALF) - 1
          (((index - (shift * HALF)) + 1) << shift) - 1
        end
      end
    end
  end
end
