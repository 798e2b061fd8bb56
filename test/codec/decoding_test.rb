# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "open3"

# Decoding takes time in proportion to the number of bytes, whatever sizes they claim.
class CodecDecodingTest < Tiercel::TestCase
  LIB = File.expand_path("../../lib", __dir__)

  # Allows twice the expected time per pair, because larger tables are slower; a quadratic decoder needed four times
  # as much.
  def test_the_time_that_a_pair_takes_does_not_grow_with_their_number
    few, many = [2_000, 64_000].map do |size|
      payload = form.dump((0...size).to_h { |i| [i, i] })
      Array.new(5) { cpu_seconds { (64_000 / size).times { form.load(payload) } } }.min
    end

    assert_operator many, :<, few * 8, "64,000 pairs at once, and in 32 parts"
  end

  # 99 nested containers that each claim all remaining bytes.
  def test_nested_claims_are_refused_with_little_memory
    %w[map array].each do |container|
      output, status = Open3.capture2e(RbConfig.ruby, "-I#{LIB}", "-e", <<~'RUBY', container)
        require "tiercel"
        form = Tiercel::CodecExt
        first, each, filler = ARGV.pop == "map" ? [0xDF, 2, "\x00"] : [0xDD, 1, ""]
        peak = -> { File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i / 1_000 }
        payload = "".b
        99.times { payload << [first, (1_000_000 - payload.bytesize - 5) / each].pack("CN") << filler }
        payload << "\xC0".b * (1_000_000 - payload.bytesize)
        before = peak.call
        begin
          form.load(payload)
          abort "it was read"
        rescue Tiercel::MalformedFrame
          puts peak.call - before
        end
      RUBY

      assert_predicate status, :success?, output
      assert_operator Integer(output), :<, 60, "MB for 1 MB of #{container}s"
    end
  end

  # All NaNs have the same hash but are not equal: 20,000 of them, each in an Array, took 43 s.
  def test_keys_that_are_not_equal_to_themselves_are_refused
    nan = "\xCB\x7F\xF8\x00\x00\x00\x00\x00\x00".b
    other = "\xCB\xFF\xF0\x00\x00\x00\x00\x00\x01".b
    [nan, other, "\x91".b + nan, "\x81\x01".b + nan, "\x81\xC0\x91".b + nan].each do |key|
      pairs = (key + "\xC0".b) * 20_000
      error = assert_raises(Tiercel::MalformedFrame) { form.load("\xDF\x00\x00\x4E\x20".b + pairs) }
      assert_match(/not equal to itself/, error.message)
    end
    assert_predicate form.load("\x82\x91\x01\x91".b + nan + "\x02".b + nan)[2], :nan?
  end

  def test_a_claim_that_leaves_nothing_for_the_containers_around_it
    ["\x92\x93\x01\x02", "\x92\x92\x01\x02", "\x82\x01\x82\x01\x02\x03\x04", "\x81\x92\x01\x02"].each do |bytes|
      assert_raises(Tiercel::MalformedFrame, bytes.inspect) { form.load(bytes.b) }
    end
    assert_equal [[1, 2], 3], form.load("\x92\x92\x01\x02\x03".b)
    assert_equal({ 1 => { 1 => 2 }, 3 => 4 }, form.load("\x82\x01\x81\x01\x02\x03\x04".b))
  end

  # Such a Hash is a copy of the one before, with a table of its own or without, and each copy stands for itself.
  def test_hashes_with_the_keys_of_the_one_before
    rows = [0, 1, 8, 9, 40].flat_map do |size|
      keys = Array.new(size) { |i| ["key #{i}", :"key_#{i}", i, i / 2.0, "k" * 80 + i.to_s][i % 5] }
      row = ->(number, of = keys) { of.to_h { |key| [key, ["#{number} #{key}", { key => number }]] } }
      [row[1], row[2], row[3, keys.reverse], row[4], row[5], row[6, keys + [nil]], row[7, keys.drop(1) + [nil]], row[8]]
    end
    found = form.load(form.dump(rows))

    assert_equal Marshal.dump(rows), Marshal.dump(found)
    found.each_slice(2) { |row, _| row.update("more" => 1).shift }
    assert_equal rows.each_slice(2).map(&:last), found.each_slice(2).map(&:last)
    assert_equal [{ 1 => 2 }, { 1 => 3 }], form.load("\x92\x81\x01\x02\x82\x01\x02\x01\x03".b), "a key twice"
  end

  private

  def form = Tiercel::CodecExt

  def cpu_seconds
    GC.start
    before = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
    yield
    Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - before
  end
end
