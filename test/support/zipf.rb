# frozen_string_literal: true

# Requests whose popularity follows Zipf's law, repeatable with the same seed, and the hit ratio of a FIFO of a given
# size.
class Zipf
  # @param keys [Integer]
  # @param exponent [Float]
  # @param seed [Integer]
  def initialize(keys, exponent: 0.9, seed: 20_240_101)
    total = 0.0
    @sums = Array.new(keys) { |rank| total += 1.0 / ((rank + 1)**exponent) }
    @random = Random.new(seed)
    @names = (0...keys).to_a.shuffle(random: @random)
  end

  # @return [Array<String>]
  def requests(count)
    Array.new(count) { "key#{@names[@sums.bsearch_index { |sum| sum >= @random.rand * @sums.last }]}" }
  end

  # @return [Float] hits per request
  def self.fifo_ratio(requests, capacity)
    kept = {}
    hits = requests.count do |key|
      next true if kept.key?(key)
      kept.shift if kept.size >= capacity
      kept[key] = true
      false
    end
    hits.fdiv(requests.size)
  end

  # @param backend [Tiercel::Backend]
  # @return [Float] hits per request, if every miss is written
  def self.backend_ratio(requests, backend, value)
    hits = requests.count do |key|
      next true if backend.get(key)
      backend.set(key, value)
      false
    end
    hits.fdiv(requests.size)
  end
end
