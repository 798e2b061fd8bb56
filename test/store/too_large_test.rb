# frozen_string_literal: true
# quick

require "test_helper"
require "active_support/cache/tiercel_store"

# A value that its backend never accepts: false, one report, and no entry.
class StoreTooLargeTest < Tiercel::TestCase
  LARGE = ("x" * 5_000_000).freeze
  SIZE = "4MB"

  def each_store
    with_tmpdir do |dir|
      urls = ["memory:", "file:#{dir}/cache"]
      urls << "sqlite:#{dir}/cache.sqlite3" if Gem.loaded_specs.key?("sqlite3")
      urls.each do |url|
        store = ActiveSupport::Cache.lookup_store(:tiercel_store, url, size: SIZE, compress: false)
        yield store, url
      ensure
        store&.clear
      end
    end
  end

  def assert_one_report(url, key: nil, &)
    reports = capture_reports { assert_equal false, yield, url }
    assert_equal 1, reports.size, url
    error = reports.first.error
    assert_instance_of Tiercel::Refused, error
    assert_match(/not stored: .*4\.8 MB/, error.message)
    assert_equal key, error.key if key && error.key
    key ? assert_equal("*", reports.first.context[:key]) : assert_nil(reports.first.context[:key])
    assert_includes error.message, url.split(":").first
  end

  def test_a_write
    each_store do |store, url|
      store.write("key", "old")
      assert_one_report(url, key: "key") { store.write("key", LARGE) }
      assert_nil store.read("key")
      assert_empty capture_reports { assert_equal false, store.write("soon after", LARGE) }
      assert_empty capture_reports { assert_equal true, store.write("key", "small") }
      assert_empty capture_reports { assert_equal false, store.write("key", "other", unless_exist: true) }
    end
  end

  def test_many_values
    each_store do |store, url|
      assert_one_report(url) { store.write_multi({ "small" => "1", "large" => LARGE }) }
      assert_nil store.read("large")
    end
  end

  def test_an_error_handler_that_raises_is_called_once
    [LARGE, [LARGE]].each do |value|
      calls = 0
      handler = lambda do |exception:, **|
        calls += 1
        raise exception
      end
      store = Tiercel.new("memory:", size: SIZE, compress: false, error_handler: handler)
      reports = capture_reports { assert_raises(Tiercel::Refused) { store.write("key", value) } }
      assert_equal [1, 1], [calls, reports.size]
    end
  end

  def test_a_block_runs_and_its_value_is_returned
    each_store do |store, url|
      value = nil
      reports = capture_reports { value = store.fetch("key") { LARGE } }
      assert_same LARGE, value, url
      assert_equal 1, reports.size, url
    end
  end
end
