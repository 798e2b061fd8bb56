# frozen_string_literal: true
# quick

require "test_helper"

class CoderTest < Tiercel::TestCase
  Coder = Tiercel::Coder
  Frame = Tiercel::Frame
  Parts = Tiercel::Frame::Parts
  Entry = ActiveSupport::Cache::Entry
  NOW = 1_700_000_000.0

  def coder(**options) = Coder.new(**options)

  def test_an_entry_comes_back
    entry = coder.load(coder.dump(Entry.new({ a: 1 }, expires_at: NOW, version: "v1")))

    assert_equal({ a: 1 }, entry.value)
    assert_in_delta NOW, entry.expires_at, 0
    assert_equal "v1", entry.version
  end

  def test_a_frame_is_the_same_from_an_entry_and_from_a_value
    assert_equal coder.dump(Entry.new("x", expires_at: NOW)), coder.dump_value("x", NOW, nil, false, 0)
    assert_equal coder.dump(Entry.new("x" * 3_000, version: "1"), threshold: 1_000),
                 coder.dump_value("x" * 3_000, nil, "1", true, 1_000)
  end

  def test_an_end_that_is_reached_is_told
    frame = coder.dump_value("x", NOW, nil)

    assert_same Coder::EXPIRED, coder.load_value(frame, NOW)
    assert_same Coder::EXPIRED, coder.load_value(frame, NOW + 1)
    assert_equal "x", coder.load_value(frame, NOW - 0.001)
  end

  def test_an_end_before_the_epoch_is_reached
    assert_same Coder::EXPIRED, coder.load_value(coder.dump_value("x", -1.0, nil), NOW)
    assert_predicate coder.load(coder.dump_value("x", -1.0, nil)), :expired?
  end

  def test_a_version_beside_compression_and_expiry
    frame = coder.dump_value({ a: "0" * 5_000 }, NOW, "v1")

    assert_operator frame.bytesize, :<, 1_000
    assert_equal({ a: "0" * 5_000 }, coder.load_value(frame, NOW - 1, "v1"))
    assert_same Coder::EXPIRED, coder.load_value(frame, NOW, "v1")
    assert_same Coder::EXPIRED, coder.load_value(coder.dump_value(1, NOW, "v1"), NOW, "v2")
  end

  def test_a_string_that_reaches_the_threshold_only_with_its_version
    frame = coder.dump_value("0" * 100, nil, "v" * 50, true, 120)

    assert_equal "0" * 100, coder.load_value(frame, NOW)
    assert_equal "0" * 100, frame.byteslice(-100, 100)
  end

  def test_parts_that_say_nothing_about_the_value_do_not_matter
    frame = Frame.build(0x01, "x", parts: Parts.encode(stale: [NOW, NOW], created_at: [NOW, 1.0]))

    assert_equal "x", coder.load_value(frame, NOW)
  end

  def test_foreign_bytes_are_malformed
    error = assert_raises(Tiercel::MalformedFrame) { coder.load("\xFFhello".b) }

    assert_match(/neither a frame nor a Rails payload nor text: 6 bytes that begin with ff68656c6c6f/, error.message)
    assert_equal "hello\n", coder.load("hello\n".b).value
    assert_same Coder::SLOW, coder.load_value("hello", NOW)
  end

  def test_a_rails_store_takes_it_as_its_coder
    store = ActiveSupport::Cache::MemoryStore.new(coder: coder)
    store.write("a", { b: "0" * 5_000 }, expires_in: 60)

    assert_equal({ b: "0" * 5_000 }, store.read("a"))
    travel(61) { assert_nil store.read("a") }
    store.write("gone", Object.const_set(:PassingRecord, Class.new).new)
    Object.send(:remove_const, :PassingRecord)
    assert_equal [{}, nil, "made"], [store.read_multi("gone"), store.read("gone"), store.fetch("gone") { "made" }]
  end
end
