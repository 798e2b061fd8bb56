# frozen_string_literal: true

require "test_helper"
require "json"
require "objspace"
require "stringio"
require_relative "memo_segment"

# Callers change a String that shares the memo's bytes, or interrupt reads, without any effect on other callers.
class SegmentMemoCallersTest < Tiercel::TestCase
  include MemoSegment

  TEXT = ("é" * LONG).freeze

  # A hit neither copies nor scans the bytes, because they are shared and their code range is known.
  def test_a_hit_shares_the_bytes_and_knows_its_code_range
    @segment.write_string("key", TEXT, nil, nil)
    write("ascii", "a" * LONG)
    { "key" => "valid", "ascii" => "7bit" }.each do |key, range|
      3.times { @segment.read(key) }
      shown = Array.new(2) { JSON.parse(ObjectSpace.dump(@segment.read(key))) }
      assert_equal [[true, range]], shown.map { |one| one.values_at("shared", "coderange") }.uniq
      assert_equal 1, shown.map { |one| one.fetch("references") }.uniq.size
    end
  end

  # A hit allocates one object and no memory with malloc.
  def test_a_hit_allocates_one_object
    write("key", "a" * 500_000)
    3.times { @segment.read("key") }
    GC.disable
    objects, bytes = Array.new(4) do # the least, because another thread may allocate too
      before = allocated
      100.times { @segment.read("key") }
      allocated.zip(before).map { |now, then_| now - then_ }
    end.min
    assert_operator objects, :<, 110
    assert_operator bytes, :<, 100_000
  ensure
    GC.enable
  end

  def test_whatever_writes_into_a_string
    writers.each do |name, writer|
      @segment.write_string("key", TEXT, nil, nil)
      others = Array.new(4) { @segment.read("key") }
      mine = others.pop
      writer.call(mine)
      2.times { assert_equal [TEXT], [*others, @segment.read("key")].uniq, name }
      assert(others.all? { |other| other.encoding == Encoding::UTF_8 && other.valid_encoding? }, name)
    end
  end

  # In a separate process, which has more than one Ractor from then on.
  def test_other_ractors_read_what_is_made_shareable
    script = <<~RUBY
      require "tiercel/segment"
      Warning[:experimental] = false
      segment = Tiercel::Segment.open(bytes: 1 << 20)
      segment.memo_bytes = 1 << 20
      segment.write_string("key", "a" * 40_000, nil, nil)
      3.times { segment.read("key") }
      ractors = Array.new(2) do
        Ractor.new(Ractor.make_shareable(segment.read("key"))) { |text| Array.new(500) { (text.dup << "x").size } }
      end
      500.times { segment.read("key") << "y" }
      GC.compact if GC.respond_to?(:compact)
      sizes = ractors.flat_map { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
      p sizes.uniq, segment.read("key") == "a" * 40_000, segment.stats[:memo_hits] > 500
    RUBY
    lib = File.expand_path("../../lib", __dir__)
    assert_equal "[40001]\ntrue\ntrue\n", IO.popen([RbConfig.ruby, "-I", lib, "-e", script], err: %i[child out], &:read)
  end

  private

  def allocated = GC.stat.values_at(:total_allocated_objects, :malloc_increase_bytes)

  # Each way in which C code reaches a String's bytes: in place, shorter, longer, as a buffer.
  def writers
    { "setbyte" => ->(s) { s.setbyte(5, 1) }, "[]=" => ->(s) { s[0, 3] = "x" }, "replace" => ->(s) { s.replace("x") },
      "relabelled" => ->(s) { s.force_encoding("BINARY").setbyte(0, 0) }, "freeze" => :freeze.to_proc,
      "pack" => ->(s) { [1].pack("N", buffer: s) }, "encode!" => ->(s) { s.encode!("UTF-16LE") },
      "append" => ->(s) { s.append_as_bytes("x") if s.respond_to?(:append_as_bytes) },
      "reverse!" => :reverse!.to_proc, "gsub!" => ->(s) { s.gsub!("é", "e") }, "slice!" => ->(s) { s.slice!(1..) },
      "singleton" => ->(s) { s.define_singleton_method(:size) { 0 } }, "IO::Buffer" => method(:through_buffer),
      "StringIO" => ->(s) { StringIO.new(s).write("x" * 10) },
      "readpartial" => ->(s) { File.open(__FILE__) { |file| file.readpartial(TEXT.bytesize, s) } },
      "clear" => ->(s) { s.clear << ("z" * TEXT.bytesize) },
      "capacity" => ->(s) { s.send(:initialize, capacity: 9_999) } }
  end

  def through_buffer(string)
    IO::Buffer.for(string) { |buffer| buffer.set_string("xxxx") }
  end
end
