# frozen_string_literal: true

require "test_helper"
require "tiercel/contracts/backend_contract"
require "tiercel/backends/sqlite"
require "tmpdir"

class SQLiteBackendTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def before_setup
    super
    @directory = Dir.mktmpdir("tiercel-sqlite")
  end

  def after_teardown
    super
    FileUtils.rm_rf(@directory)
  end

  def path = File.join(@directory, "cache.sqlite3")

  def build_backend(**) = Tiercel::Backends::SQLite.new(path, **)

  def build_peer = build_backend
end
