# frozen_string_literal: true
# suites: store*

require "test_helper"
require "tiercel"

class MetricsTest < Tiercel::TestCase
  LABEL = /\w+="(?:[^"\\\n]|\\.)*"/
  LINE = /\A(?:# (?:HELP|TYPE) tiercel_\w+ .+|tiercel_\w+(?:\{#{LABEL}(?:,#{LABEL})*\})? [\d.e-]+)\z/

  def with_store(*urls, **options)
    with_tmpdir do |dir|
      urls = ["shared:#{dir}/near", "file:#{dir}/far"] if urls.empty?
      store = Tiercel.new(*urls, **options)
      yield store
    ensure
      store&.close
    end
  end

  def samples(text) = text.lines(chomp: true).grep_v(/\A#/).to_h { |line| line.rpartition(" ").values_at(0, 2) }

  def test_the_text_has_the_totals_of_the_machine
    with_store do |store|
      3.times { |index| store.fetch("key:#{index}") { "value" } }
      2.times { store.read("key:0") }
      text = Tiercel::Metrics.to_prometheus(store)
      found = samples(text)
      assert_equal %w[2 3 3], found.values_at("tiercel_hits_total", "tiercel_misses_total", "tiercel_blocks_total")
      assert_operator found["tiercel_block_seconds_total"].to_f, :>, 0
      assert(found.key?("tiercel_info{scope=\"machine\",version=\"#{Tiercel::VERSION}\"}"))
      assert_equal "2", found.find { |name, _| name.start_with?("tiercel_tier_hits_total{tier=\"shared:") }.last
      assert(found.keys.any? { |name| name.start_with?("tiercel_tier_bytes{") })
      text.lines(chomp: true).each { |line| assert_match LINE, line }
    end
  end

  def test_each_metric_is_described_once_before_its_samples
    with_store do |store|
      store.read("nothing")
      names = Tiercel::Metrics.to_prometheus(store).lines.grep(/\A# TYPE/).map { |line| line.split[2] }
      assert_equal names.uniq, names
    end
  end

  def test_classes_are_labels_and_are_escaped
    with_store("memory:", namespace: "a\"b\\c\nd\e[31m") do |store|
      25.times { |index| store.fetch("post:#{index}") { "value" } }
      text = Tiercel::Metrics.to_prometheus(store)
      text.lines(chomp: true).each { |line| assert_match LINE, line }
      assert_match(/class="a\\"b\\\\c.d.\[31m:post:\*"/, text)
      refute_includes text, "\e"
    end
  end

  def test_a_store_of_another_class_is_refused
    error = assert_raises(Tiercel::ConfigurationError) do
      Tiercel::Metrics.to_prometheus(ActiveSupport::Cache::MemoryStore.new)
    end
    assert_match(/expected a Tiercel store, got ActiveSupport::Cache::MemoryStore/, error.message)
  end
end
