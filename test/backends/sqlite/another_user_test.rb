# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"

# A cache file of another user, in a folder that this user can enter.
class SQLiteAnotherUserTest < Tiercel::TestCase
  NOBODY = 65_534

  def setup
    skip "[environment] changing users needs root" unless Process.uid.zero?
    require "active_support/execution_context" # root's gems and our code are closed to the other user
    Tiercel.eager_load!
  end

  # @return [Array] the block's result in a process of another user, and the reports
  def as_nobody(path)
    fork_and_wait(1) do
      Process::Sys.setuid(NOBODY)
      store = ActiveSupport::Cache.lookup_store(:tiercel_store, "sqlite:#{path}")
      value = nil
      reports = capture_reports { value = [store.read("key"), store.write("key", 1), store.fetch("key") { 2 }] }
      [value, reports.map { |report| [report.error.class.name, report.error.message] }]
    end.first
  end

  def with_cache
    Dir.mktmpdir("tiercel-users") do |dir|
      File.chmod(0o755, dir)
      store = ActiveSupport::Cache.lookup_store(:tiercel_store, "sqlite:#{path = File.join(dir, "cache.sqlite3")}")
      store.write("key", "value")
      store.backend.close
      yield path
      reopened = ActiveSupport::Cache.lookup_store(:tiercel_store, "sqlite:#{path}")
      assert_equal "value", reopened.read("key"), "it is left as it was"
      reopened.backend.close
    end
  end

  def assert_missed(path, pattern)
    values, reports = as_nobody(path)
    assert_equal [nil, nil, 2], values
    refute_empty reports
    reports.each do |name, message|
      assert_equal "Tiercel::Refused", name
      assert_match pattern, message
      refute_match(/not a cache of Tiercel/, message)
    end
  end

  def test_it_misses_with_owner_and_mode_as_the_reason
    with_cache do |path|
      assert_missed(path, /cache.sqlite3 belongs to user 0 and has mode 0600\. This process runs as 65534/)
    end
  end

  def test_a_lock_file_or_a_folder_of_another_user
    with_cache do |path|
      File.chmod(0o666, path)
      assert_missed(path, /sqlite3\.lock belongs to user 0/)
      File.chmod(0o700, File.dirname(path))
      assert_missed(path, /Permission denied.*cache\.sqlite3/)
    end
  end
end
