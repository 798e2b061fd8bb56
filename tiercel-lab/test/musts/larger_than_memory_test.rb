# frozen_string_literal: true

require_relative "../support/lab_case"

class LargerThanMemoryTest < LabCase
  SUBJECT = Lab::Tables::Musts::LargerThanMemory

  def run_of(tiers_us, alone_us, tiers_hits: 136_000, alone_hits: 136_000)
    { "tiers" => { "us" => Array.new(144, &tiers_us), "hits" => tiers_hits },
      "alone" => { "us" => Array.new(144, &alone_us), "hits" => alone_hits } }
  end

  def judged(run, after = run) = SUBJECT.new.judged(run, after)

  def test_time_and_hits
    state, words = judged(run_of(->(i) { 4.0 + (i * 0.001) }, ->(_) { 10.0 }))
    assert_equal :holds, state
    assert_match(/\Amean read 0\.4\d+ \[0\.4\d+-0\.4\d+\] of sqlite: alone; hits 94\.44 % against 94\.44 %/, words)
    assert_equal :fails, judged(run_of(->(_) { 6.0 }, ->(_) { 10.0 })).first
    assert_equal :undecided, judged(run_of(->(i) { i < 72 ? 4.0 : 6.0 }, ->(_) { 10.0 })).first
    # A checkpoint or another program slows only a few slices, and does not change the result.
    assert_equal :holds, judged(run_of(->(i) { (i % 48).zero? ? 40.0 : 4.0 + (i * 0.001) }, ->(_) { 10.0 })).first
    assert_equal :fails, judged(run_of(->(_) { 4.0 }, ->(_) { 10.0 }, tiers_hits: 135_000)).first
    fast = run_of(->(_) { 4.0 }, ->(_) { 10.0 })
    assert_equal :fails, judged(fast, run_of(->(_) { 4.0 }, ->(_) { 10.0 }, tiers_hits: 132_000)).first
  end

  # A small set: 6,000 keys. The segment holds some of them, the databases not all.
  def test_what_is_read_is_read_of_both
    with_tmpdir do |folder|
      set = Lab::Tables::Musts::WorkingSet.new
      assert_equal "measured", set.open(folders: { disk: folder }, seed: 1, keys: 6_000)["status"]
      found = set.run(reads: 300, slices: 2)
      assert_equal ["measured", [2, 2]], [found["status"], %w[tiers alone].map { |name| found[name][:us].size }]
      assert_includes 1..600, found["tiers"][:hits]
      assert_equal "measured", set.lose_segment["status"]
      assert_includes 1..600, set.run(reads: 300, slices: 2)["tiers"][:hits]
    ensure
      set&.close
    end
  end
end
