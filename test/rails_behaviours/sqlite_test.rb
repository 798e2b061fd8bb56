# frozen_string_literal: true

require "tmpdir"
require_relative "support"

# `sqlite:`, with one file for all stores of a test.
class SQLiteBehavioursTest < RailsBehaviours::TestCase
  include(*RailsBehaviours::FILE)
  include LocalCacheBehavior
  include EncodedKeyCacheBehavior

  def teardown
    [@cache, @peek].each { |store| store.backend.close if store.respond_to?(:backend) }
    super
    FileUtils.rm_rf(@directory) if @directory
  end

  private

  def url = "sqlite:#{@directory ||= Dir.mktmpdir("tiercel-behaviours-")}/cache.sqlite3"

  # Reading a value of some KB is cheaper than inflating it.
  def compression_always_disabled_by_default? = true
end
