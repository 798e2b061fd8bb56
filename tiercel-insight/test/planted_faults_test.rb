# frozen_string_literal: true

# suites: insight

require "test_helper"
require "json"
require "open3"

# The audit in an application with 20 planted faults, and in the same application without them.
class PlantedFaultsTest < Tiercel::TestCase
  APPLICATION = File.expand_path("planted_faults/application.rb", __dir__)

  def run_application(form, store, share, rounds)
    paths = $LOAD_PATH.grep(%r{tiercel-insight/lib|/lib\z}).grep(%r{insight|#{Regexp.escape(Dir.pwd)}/lib})
    folders = paths.flat_map { |path| ["-I", path] }
    out, err, status = Open3.capture3(RbConfig.ruby, "-W0", "-rtmpdir", "-I", "lib", *folders,
                                      APPLICATION, form, store, share.to_s, rounds.to_s)
    assert_predicate status, :success?, err
    JSON.parse(out.lines.last, symbolize_names: true)
  end

  { ":memory_store" => "memory_store", ':tiercel_store, "memory:"' => "tiercel" }.each do |store, name|
    define_method(:"test_a_crawl_finds_the_faults_on_#{name}") do
      found = run_application("faulty", store, 1.0, 1)
      assert_equal [found[:planted].sort, 0], [found[:stale].sort, found[:in_transaction]]
    end

    define_method(:"test_nothing_is_reported_without_faults_on_#{name}") do
      next pass if name == "tiercel" && !long?
      found = run_application("correct", store, 1.0, long? ? 1_000 : 10)
      assert_empty found[:stale]
      assert_operator found[:checked], :>, 100
      assert_operator found[:not_repeatable], :>=, 3
    end
  end

  def test_one_in_a_thousand
    found = run_application("faulty", ":memory_store", *(long? ? [0.001, 100_000] : [0.1, 1_500]))
    assert_operator (found[:planted] & found[:stale]).size, :>=, 15, "#{found[:stale].inspect} after #{found[:checked]}"
    assert_empty found[:stale] - found[:planted]
  end
end
