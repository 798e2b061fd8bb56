# frozen_string_literal: true
# suites: store*

require "test_helper"
require "active_support/cache/tiercel_store"

# Processes of one machine change and read a few keys with every operation. No read that begins after a change has
# returned may return the previous value.
class TiersEveryOperationTest < Tiercel::TestCase
  KEYS = 4
  PROCESSES = 4
  SECONDS = 1.0

  # For each key, the number of the latest change in the source, and of the latest change in the cache. A block of
  # `fetch` returns the number in the source. A read must not return a number lower than the one in the cache.
  class Ledger
    # @param path [String]
    def self.create(path) = File.binwrite(path, "\0" * 16 * KEYS)

    def initialize(path)
      @numbers = File.open(path, "r+b")
      @locks = Array.new(KEYS) { |index| File.open("#{path}.#{index}", "w") }
    end

    def source(index) = at(index + KEYS)
    def told(index) = at(index)

    # @param indexes [Array<Integer>] keys that the block changes, in one process at a time
    # @yieldparam numbers [Array<Integer>] the numbers of the change
    def change(*indexes)
      locks = @locks.values_at(*indexes.sort)
      locks.each { |lock| lock.flock(File::LOCK_EX) }
      numbers = indexes.map { |index| source(index) + 1 }
      indexes.zip(numbers) { |index, number| put(index + KEYS, number) }
      yield numbers
      indexes.zip(numbers) { |index, number| put(index, number) }
    ensure
      locks.each { |lock| lock.flock(File::LOCK_UN) }
    end

    private

    def at(place) = @numbers.pread(8, place * 8).unpack1("Q<")
    def put(place, number) = @numbers.pwrite([number].pack("Q<"), place * 8)
  end

  # A last tier whose answers are sometimes delayed, while others continue.
  module Late
    %i[get get_multi get_with_token set set_multi add add_or_get compare_and_set delete delete_multi].each do |name|
      define_method(name) { |*arguments| super(*arguments).tap { sleep 0.003 if rand(6).zero? } }
    end
  end

  # The work of one process.
  class Worker
    OPERATIONS = { read: 6, read_plainly: 2, read_multi: 4, fetch: 3, fetch_multi: 2, write: 3, write_briefly: 1,
                   write_unless_exist: 1, write_multi: 2, delete: 2, delete_multi: 1, force: 1, count: 1,
                   delete_matched: 0.2, clear: 0.2 }.flat_map { |name, weight| [name] * (weight * 5) }.freeze

    attr_reader :stale

    def initialize(store, ledger, seed)
      @store, @ledger, @random = store, ledger, Random.new(seed)
      @stale = []
    end

    def run(seconds)
      ends_at = Tiercel::Clock.monotonic + seconds
      while Tiercel::Clock.monotonic < ends_at
        @one, @other = (0...KEYS).to_a.sample(2, random: @random)
        send(@operation = OPERATIONS.sample(random: @random))
      end
      self
    end

    private

    def key(index = @one) = "key #{index}"
    def keys = [key, key(@other)]
    # Three kinds of values: a String that the segment returns directly, a String with a longer frame, and a value
    # that must be decoded.
    def value(number) = [number, "value #{number}", "value #{number} #{"x" * 2_000}", [number]][number % 4]
    def made(index) = value(@ledger.source(index))

    def read = check(@one) { [@store.read(key)] }
    def read_plainly = check(@one) { [@store.read(key, namespace: nil)] }
    def read_multi = check(@one, @other) { @store.read_multi(*keys).values_at(*keys) }
    def fetch = check(@one) { [@store.fetch(key) { made(@one) }] }

    def fetch_multi
      check(@one, @other) { @store.fetch_multi(*keys) { |name| made(Integer(name[/\d+/])) }.values_at(*keys) }
    end

    def write = @ledger.change(@one) { |(number)| @store.write(key, value(number)) }
    def write_briefly = @ledger.change(@one) { |(number)| @store.write(key, value(number), expires_in: 0.05) }
    def delete = @ledger.change(@one) { @store.delete(key) }
    def delete_multi = @ledger.change(@one, @other) { @store.delete_multi(keys) }
    def force = @ledger.change(@one) { |(number)| @store.fetch(key, force: true) { value(number) } }
    def delete_matched = @ledger.change(*(0...KEYS)) { @store.delete_matched("key*") }
    def clear = @ledger.change(*(0...KEYS)) { @store.clear }

    def write_multi
      @ledger.change(@one, @other) do |numbers|
        @store.write_multi(keys.zip(numbers.map { |number| value(number) }).to_h)
      end
    end

    def write_unless_exist
      @ledger.change(@one) { |(number)| @store.delete(key) && @store.write(key, value(number), unless_exist: true) }
    end

    def count
      @ledger.change(@one) do |(number)|
        @store.write(key, 5_000_000_000, raw: true)
        @store.increment(key)
        @store.write(key, value(number))
      end
    end

    def check(*indexes)
      told = indexes.map { |index| @ledger.told(index) }
      yield.zip(told, indexes) do |found, least, index|
        number = found.to_s[/\d+/].to_i
        @stale << "#{@operation} of #{key(index)}: #{number}, told #{least}" if found && number < least
      end
    end
  end

  def test_nobody_of_the_machine_reads_what_was_there_before
    with_tmpdir do |dir|
      Ledger.create("#{dir}/ledger")
      stale = fork_and_wait(PROCESSES) do |index|
        store = Tiercel.new("shared:#{dir}/segment?size=4MB", "sqlite:#{dir}/cache.sqlite3", timeout: 20)
        store.backend.last.extend(Late)
        Worker.new(store, Ledger.new("#{dir}/ledger"), index).run(long? ? 15 : SECONDS).stale.first(5)
      end
      assert_equal [[]] * PROCESSES, stale
    end
  end
end
