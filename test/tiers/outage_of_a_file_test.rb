# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"

# `shared:` over `sqlite:`, while the file cannot be opened.
class TiersOutageOfAFileTest < Tiercel::TestCase
  COOL_DOWN = 1

  def setup
    Dir.mkdir("#{dir}/disk")
    @stores = []
  end

  def teardown
    @stores.each(&:close)
  end

  def build(**options)
    store = ActiveSupport::Cache::TiercelStore.new(
      "shared:#{dir}/segment?size=1MB", "sqlite:#{dir}/disk/cache.sqlite3",
      timeout: 0.05, error_handler: ->(**) {}, breaker: { failures: 1, cool_down: COOL_DOWN, max_cool_down: COOL_DOWN },
      **options
    )
    @stores << store
    store
  end

  # During the block no process can open the file.
  def gone
    File.rename("#{dir}/disk", "#{dir}/disk.away")
    File.write("#{dir}/disk", "no directory")
    yield
  ensure
    File.unlink("#{dir}/disk")
    File.rename("#{dir}/disk.away", "#{dir}/disk")
  end

  OLD = %w[deleted written kept].to_h { |name| [name, "old"] }.freeze

  # Every process starts while the file does not exist.
  def test_one_block_for_the_machine_while_the_file_is_gone
    store = build
    store.write_multi(OLD)
    gone do
      values = fork_and_wait(4) do |number|
        other = build
        other.backend.near.coverage.trust = 60
        Array.new(3) { other.fetch("key", expires_in: 60) { number } }
      end
      assert_equal 1, values.flatten.uniq.size
    end
    travel_monotonic(COOL_DOWN) { assert_equal OLD, store.read_multi(*OLD.keys) }
  end
end
