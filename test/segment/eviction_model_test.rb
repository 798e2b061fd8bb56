# frozen_string_literal: true

require "test_helper"
require "tiercel/segment"

class EvictionModelTest < Tiercel::TestCase
  # A loop of more keys than the segment has room for, popular keys, deletes, and writes. Then a value skips
  # the small log.
  def test_it_predicts_the_misses_of_a_segment
    segment = Tiercel::Segment.open(nil, bytes: 2 << 20, hash_key: "5" * 16)
    model = Tiercel::Segment::EvictionModel.new(segment.stats[:log_bytes])
    really, predicted = Array.new(20_000) do |at|
      key = format("key%05d", at.odd? ? at % 2_600 : (at * at % 9_973 / 9_973.0)**3 * 4_000)
      [segment, model].each { |one| one.delete(key) } if at % 9 == 0
      segment.set(key, "v" * 1_000) && model.write(key, 1_056) if at % 5 == 0
      hit = !segment.get(key).nil?
      segment.set(key, "v" * 1_000) unless hit
      [hit, model.read(key, 1_056)]
    end.transpose.map { |hits| hits.count(false) }
    assert_in_delta really, predicted, 30
    model.read("large", 60_000)
    300.times { |index| model.read("new#{index}", 1_056) }
    assert model.read("large", 60_000)
  end
end
