# frozen_string_literal: true
# quick

require "test_helper"

# The payload of a frame: compressed or not, accepted or refused.
class CoderPayloadsTest < Tiercel::TestCase
  Coder = Tiercel::Coder
  Frame = Tiercel::Frame
  Parts = Tiercel::Frame::Parts
  NOW = 1_700_000_000.0

  def coder(**options) = Coder.new(**options)

  def test_values_are_compressed_from_the_threshold_on_if_it_saves_enough
    frames = [[true, 100], [true, 101], [false, 1]].map do |compress, threshold|
      coder.dump_value("0" * 100, nil, nil, compress, threshold).bytesize
    end

    assert_operator frames[0], :<, frames[1]
    assert_equal frames[1], frames[2]
  end

  def test_objects_are_compressed_by_the_size_of_their_payload
    value = { data: "0" * 100 }

    compressed, plain = [true, false].map { |compress| coder.dump_value(value, nil, nil, compress, 1) }
    assert_operator compressed.bytesize, :<, plain.bytesize
  end

  def test_what_does_not_become_smaller_stays_as_it_is
    [nil, "", 1, Random.new(1).bytes(5_000), [*0..127].pack("C*")].each do |value|
      assert_equal coder.dump_value(value, nil, nil, false, 1), coder.dump_value(value, nil, nil, true, 1)
    end
  end

  def test_another_coder_reads_it_whatever_its_own_serializer_and_compressor_are
    frame = coder(serializer: :marshal, compressor: :zlib).dump_value({ a: "0" * 5_000 }, nil, nil)

    assert_equal({ a: "0" * 5_000 }, coder(serializer: :json, compressor: nil).load_value(frame, NOW))
  end

  def test_the_checksum_is_optional_and_always_verified
    with, without = [true, false].map { |checksum| coder(checksum:).dump_value([1, 2], nil, nil) }

    assert_equal [1, 0], [with.getbyte(4), without.getbyte(4)]
    assert_equal [[1, 2]] * 2, [with, without].map { |frame| coder(checksum: false).load_value(frame, NOW) }
    with.setbyte(with.bytesize - 1, 3)
    assert_raises(Tiercel::MalformedFrame) { coder(checksum: false).load_value(with, NOW) }
  end

  def test_a_class_that_is_gone_is_a_mismatch
    frame = coder.dump_value(define_passing_class.new, nil, nil)
    Object.send(:remove_const, :PassingClass)

    assert_raises(ActiveSupport::Cache::DeserializationError) { coder.load_value(frame, NOW) }
    entry = coder.load(frame)
    assert entry.mismatched?(nil)
    2.times { assert_raises(ActiveSupport::Cache::DeserializationError) { entry.value } }
  end

  def test_a_damaged_payload_is_a_mismatch_too
    entry = coder.load(Frame.build(0x11, "\xC1".b))

    assert entry.mismatched?(nil)
    assert_raises(ActiveSupport::Cache::DeserializationError) { entry.value }
  end

  def test_an_entry_of_another_version_is_not_decoded
    entry = coder.load(Frame.build(0x11, "\xC1".b, parts: Parts.encode(version: "1")))

    assert entry.mismatched?("2")
  end

  def test_marshal_can_be_forbidden_when_loading
    strict = coder(marshal: false)
    frame = coder.dump_value(Time.at(0), nil, nil)

    assert_raises(Tiercel::SerializationError) { strict.load_value(frame, NOW) }
    assert strict.load(frame).mismatched?(nil)
    assert_raises(Tiercel::MalformedFrame) { strict.load("\x00#{Marshal.dump([1])}".b) }
  end

  def test_without_marshal_only_the_stores_own_serializer_loads
    frame = coder(serializer: :json).dump_value([1], nil, nil)

    assert_raises(Tiercel::SerializationError) { coder(marshal: false).load_value(frame, NOW) }
    assert_equal [1], coder(marshal: false, serializer: :json).load_value(frame, NOW)
  end

  private

  def define_passing_class
    Object.const_set(:PassingClass, Class.new)
  end
end
