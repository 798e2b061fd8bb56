# frozen_string_literal: true

# Measures the decoding time of large Hashes, relative to Marshal (adr/005-serializer.md):
#
#   ruby --yjit -Ilib test/codec/large_hashes.rb [ROUNDS]
require "tiercel"

ROUNDS = Integer(ARGV.fetch(0, 31))
KINDS = {
  "Integers" => ->(index) { index },
  "Strings" => ->(index) { "key #{index}" },
  "Symbols" => ->(index) { :"key_#{index}" },
}.freeze

def microseconds(repetitions)
  GC.start
  before = Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_microsecond)
  repetitions.times { yield }
  (Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_microsecond) - before) / repetitions
end

def median(numbers) = numbers.sort[numbers.size / 2]

form = Tiercel::CodecExt
[10_000, 50_000].product(KINDS.to_a, KINDS.first(2)) do |size, (keys, key), (values, value)|
  hash = (0...size).to_h { |index| [key.call(index), value.call(index)] }
  plain, marshalled = form.dump(hash), Marshal.dump(hash)
  rounds = Array.new(ROUNDS) do
    [microseconds(50_000 / size) { form.load(plain) }, microseconds(50_000 / size) { Marshal.load(marshalled) }]
  end
  puts format("%6d pairs, %s, %s: %8.0f us, Marshal %8.0f us, ratio %.2f", size, keys, values,
              *rounds.transpose.map { |times| median(times) }, median(rounds.map { |ours, theirs| ours / theirs }))
end
