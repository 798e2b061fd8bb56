# frozen_string_literal: true

require "tiercel"

# Two machines of {Machines}, with two processes each, write, delete and read the same keys. They look for reads of a
# value that was overwritten longer ago than copies are trusted.
module Churn
  KEYS = 8 # keys per process; only that process writes them
  PROCESSES = 4
  # Seconds of trust, seconds between heartbeats, minimum duration in seconds, and reads of each process.
  Pace = Struct.new(:trust, :interval, :seconds, :reads)
  SHORT = Pace.new(0.4, 0.1, 2, 500)
  LONG = Pace.new(3.0, 1.0, 120, 250_000)
  # Slack for a reader that waits for the CPU, and for the tick of the coarse clock.
  SLACK = 0.05

  # The count of each key that the last tier has acknowledged, shared by all processes.
  class Acknowledged
    def initialize(path, bound)
      @file = File.open(path, File::RDWR | File::CREAT)
      @file.pwrite("\0" * (8 * KEYS * PROCESSES), 0) if @file.size.zero?
      @bound = bound
      @past = []
    end

    def store(index, count) = @file.pwrite([count].pack("Q"), 8 * index)

    # @return [Array<Integer>] minimum counts that a read beginning at `now` must return
    def due(now)
      if @past.empty? || now - @past.last.first > 0.01
        @past << [Tiercel::Clock.monotonic, @file.pread(8 * KEYS * PROCESSES, 0).unpack("Q*")]
      end
      @past.shift while @past.size > 1 && @past[1].first <= now - @bound
      @past.first.first <= now - @bound ? @past.first.last : Array.new(KEYS * PROCESSES, 0)
    end
  end

  # The work of one process.
  class Client
    def initialize(store, number, acknowledged, pace)
      @store = store
      @number = number
      @acknowledged = acknowledged
      @pace = pace
      @random = Random.new(number)
      @counts = Array.new(KEYS, 0)
      @result = { reads: 0, near: 0, stale: [] }
      slow_down(store.backend.last)
    end

    def run
      ends_at = Tiercel::Clock.monotonic + @pace.seconds
      until @result[:reads] >= @pace.reads && Tiercel::Clock.monotonic >= ends_at
        10.times { @random.rand < 0.005 ? write : read }
        sleep 0.0005
      end
      @result
    end

    private

    # Delays fills, because late fills are the subject of these tests.
    def slow_down(far)
      random = @random
      far.define_singleton_method(:get) do |key|
        super(key).tap { sleep random.rand(0.02) if random.rand < 0.05 }
      end
    end

    def write
      key = @random.rand(KEYS)
      index = (@number * KEYS) + key
      return @store.delete("key:#{index}") if @random.rand < 0.1
      @counts[key] += 1
      @acknowledged.store(index, @counts[key]) if @store.write("key:#{index}", @counts[key], expires_in: 600)
    end

    def read
      index = @random.rand(KEYS * PROCESSES)
      due = @acknowledged.due(Tiercel::Clock.monotonic)[index]
      near = @store.backend.near.get("key:#{index}") if @random.rand < 0.1
      value = @store.read("key:#{index}")
      @result[:reads] += 1
      @result[:near] += 1 if near
      @result[:stale] << [index, value, due] if value && value < due
    end
  end

  # @param store [ActiveSupport::Cache::TiercelStore] the store of one process
  # @return [Hash{Symbol => Object}] the process' observations
  def read_and_write(store, number, pace)
    store.backend.near.bus.interval = pace.interval
    store.backend.near.coverage.trust = pace.trust
    acknowledged = Acknowledged.new("#{@directory}/acknowledged", pace.trust + SLACK)
    Client.new(store, number, acknowledged, pace).run
  end

  # Faults of a machine's connections.
  FAULTS = [
    ->(proxy, _) { proxy.cut },
    ->(proxy, pause) { proxy.change(hold: true) && sleep(pause) && proxy.heal },
    ->(proxy, pause) { proxy.change(refuse: true) && proxy.cut && sleep(pause) && proxy.heal },
    ->(proxy, pause) { proxy.change(hold: true) && sleep(pause) && proxy.cut && proxy.heal },
  ].freeze

  # @param proxies [Array<Tiercel::Lab::Network::Proxy>]
  def disturb(proxies, pace, random)
    loop do
      sleep random.rand(pace.trust * 3)
      FAULTS.sample(random: random).call(proxies.sample(random: random), random.rand(pace.trust * 1.5))
    end
  end

  # @yieldparam number [Integer] the number of the process that runs the block
  # @return [Array<Hash>]
  def churn(pace, &)
    Acknowledged.new("#{@directory}/acknowledged", 0)
    results = fork_and_wait(PROCESSES, within: [pace.seconds, 4].max * 30, &)
    assert_empty results.flat_map { |result| result[:stale] }.first(10)
    assert_operator results.sum { |result| result[:reads] }, :>=, pace.reads * PROCESSES
    results
  end

  def tell(results)
    reads, near = %i[reads near].map { |name| results.sum { |result| result[name] } }
    assert_operator near, :>, reads / 1000
    puts "churn: #{reads} reads; of each tenth that was looked at, #{near} found a near copy"
  end
end
