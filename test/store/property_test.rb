# frozen_string_literal: true

require "test_helper"
require "active_support/cache/tiercel_store"
require "active_support/core_ext/object/with"
require_relative "lock_step/episode"
require_relative "lock_step/far_memory"

# The store's own path behaves like Rails' own methods over Rails' hooks. Two stores, one of each kind, receive the same
# random calls. After each call the test compares results, exceptions, events, log lines, reports and stored bytes.
#
# TIERCEL_SEED=n selects other calls, TIERCEL_CALLS=n their number.
class StorePropertyTest < Tiercel::TestCase
  SEED = Integer(ENV.fetch("TIERCEL_SEED", 20_260_801))
  CALLS_PER_EPISODE = 100

  def setup
    @logger = ActiveSupport::Cache::Store.logger
  end

  def teardown
    ActiveSupport::Cache::Store.logger = @logger
  end

  def test_over_memory
    compare(calls(2_500)) { |store, **options| store.new("memory:", size: "4MB", **options) }
  end

  def test_over_shared_memory
    needs :shared
    on_disk(calls(1_000)) { |store, path, options| store.new("shared:#{path}", size: "4MB", **options) }
  end

  # Decoded values in the process' memo are invalidated as well.
  def test_over_shared_memory_with_a_memo
    needs :shared
    on_disk(calls(1_000)) { |store, path, options| store.new("shared:#{path}", size: "4MB", memo: "1MB", **options) }
  end

  def test_over_sqlite
    needs :sqlite
    on_disk(calls(400)) { |store, path, options| store.new("sqlite:#{path}", **options) }
  end

  def test_over_files
    needs :file
    on_disk(calls(400)) { |store, path, options| store.new("file:#{path}", **options) }
  end

  # A near copy has another form than the entry behind it.
  def test_over_tiers
    needs_extension "segment"
    compare(calls(800)) { |store, **options| store.new("memory:?size=4MB", "far-unmounted:", **options) }
  end

  private

  def needs(scheme)
    return needs_extension("segment") if scheme == :shared
    skip "#{scheme}: is not there" unless Tiercel::Backends::REGISTRY.available?(scheme)
  end

  def calls(default) = Integer(ENV.fetch("TIERCEL_CALLS", long? ? default * 40 : default))

  def on_disk(calls)
    with_tmpdir do |dir|
      number = 0
      compare(calls) { |store, **options| yield(store, "#{dir}/#{number += 1}", options) }
    end
  end

  def compare(calls, &)
    compare_episodes(calls) { |seed| LockStep::Episode.new(seed, &) }
  end

  def compare_episodes(calls)
    episode_seeds = Random.new(SEED)
    done = 0
    while done < calls
      episode_seed = episode_seeds.rand(2**32)
      episode = yield(episode_seed)
      difference = episode.run(CALLS_PER_EPISODE)
      done += episode.calls
      flunk "TIERCEL_SEED=#{SEED}, episode #{episode_seed}, latest first:\n#{difference}" if difference
    end
    assert_operator done, :>=, calls
  end
end
