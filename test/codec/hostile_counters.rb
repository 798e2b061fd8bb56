# frozen_string_literal: true

# Passes arguments of every kind to the counters of an account until the time is over:
#
#   ruby -Ilib test/codec/hostile_counters.rb SECONDS SEED
#
# Exits if an invalid index is accepted; otherwise only a crash or a sanitizer's report counts.
require "tiercel"
require "tiercel/account"

# One run.
class HostileCounters
  NUMBERS = [0, 1, 18, 510, 511, 512, -1, 99_999, 100_000, 1 << 40, 1 << 70, -(1 << 70), 1.5, nil, "1", :a].freeze
  CALLS = { miss: 2, block: 2, rest: 2, add: 2, hit: 1, due?: 0, load: 1, own: 1 }.freeze

  def initialize(native, seed)
    @native = native
    @random = Random.new(seed)
  end

  # @return [Integer] number of calls
  def run(seconds)
    ends_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    count = 0
    until Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends_at
      page = @native::CounterPage.new(nil)
      200.times { call(page) }
      count += 200
    end
    count
  end

  private

  def call(page)
    name = CALLS.keys.sample(random: @random)
    arguments = Array.new(CALLS[name]) { NUMBERS.sample(random: @random) }
    page.public_send(name, *arguments)
    return if %i[due? rest].include?(name) || arguments.first.to_i.between?(0, 511)
    abort "#{name}(#{arguments.inspect}) was accepted"
  rescue IndexError, RangeError, ArgumentError, TypeError
    nil
  end
end

if $PROGRAM_NAME == __FILE__
  abort "the extension is not built" unless Tiercel::Codec.native
  counters = HostileCounters.new(Tiercel::Codec.native, Integer(ARGV.fetch(1, 1)))
  puts "#{counters.run(Float(ARGV.fetch(0, 10)))} calls"
end
