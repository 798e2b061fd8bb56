# frozen_string_literal: true

require "active_support/cache/tiercel_store"
require "zlib"

# One of several processes that overwrite, delete and read the same large keys: plain, compressed and with a version.
# Each key has one writer, which increments a count, so that reads of overwritten or deleted values are detected.
class MemoPeer
  BOUND = 2 << 20
  RAISES = ->(exception:, **) { raise exception }

  # The work of a process. refused: calls that gave up, by name; they have no effect.
  Result = Struct.new(:reads, :found, :hits, :writes, :deletes, :refused)

  # @return [Result]
  attr_reader :result

  def initialize(directory, index, of:, keys:)
    @store = Tiercel.new("shared:#{directory}/values?size=16MB", memo: BOUND, error_handler: RAISES)
    @floors = Tiercel::Segment.open("#{directory}/floors", bytes: 1 << 20)
    @index, @processes = index, of
    @keys = Array.new(keys) { |i| "views/page/#{i}" }
    @random = Random.new(Minitest.seed + index)
    @counts = Hash.new(0)
    @result = Result.new(0, 0, 0, 0, 0, Hash.new(0))
  end

  # @yield around each call of the store
  # @return [Result]
  def run(reads, every: 50, &around)
    @around = around || ->(&call) { call.call }
    reads.times do |read|
      change(@keys[(@random.rand(@keys.size / @processes) * @processes) + @index]) if (read % every).zero?
      check(@keys[@random.rand(@keys.size)])
      within_bound if (read % 1_000).zero?
    end
    within_bound
    @result.tap { |result| result.hits = @store.stats[:memo_hits] }
  end

  private

  # Calls fail if another process holds the lock for longer than the maximum wait.
  def refused?(what)
    @around.call { yield }
    false
  rescue Tiercel::BackendError
    @result.refused[what] += 1
    true
  end

  # A refused change leaves the old entry, so only a successful change raises the minimum.
  def change(key)
    count = @counts[key] += 1
    if @random.rand < 0.2
      refused?(:delete) { @store.delete(key) } and return
      count = @counts[key] += 1
      @result.deletes += 1
    else
      refused?(:write) { @store.write(key, text(key, count), **options(key)) or raise "not stored" } and return
      @result.writes += 1
    end
    refused?(:floor) { @floors.set(key, count.to_s) }
  end

  def options(key)
    [{ compress: false }, { compress: true, compress_threshold: 1 }, { version: "v" }][key.sum % 3]
  end

  # Usually a little shorter than the previous one, so that it is overwritten in place.
  def text(key, count)
    body = "#{key}:#{count};é" * (1_100 - (count % 12 * 70))
    "#{key}:#{count}:#{Zlib.crc32(body)}:#{body}"
  end

  def check(key)
    floor = @floors.get(key).to_i
    value = nil
    refused?(:read) { value = @store.read(key) } and return
    @result.reads += 1
    return unless value
    @result.found += 1
    name, count, sum, body = value.split(":", 4)
    raise "torn: #{value[0, 80]}" unless name == key && body && Zlib.crc32(body) == sum.to_i && value.valid_encoding?
    raise "stale: #{count} of #{key}, #{floor} was there" if count.to_i < floor
    value << "mine"
  end

  def within_bound
    bytes = @store.stats[:memo_bytes]
    raise "#{bytes} bytes are kept" if bytes > BOUND
  end
end
