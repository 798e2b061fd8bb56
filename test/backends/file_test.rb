# frozen_string_literal: true

require "test_helper"
require "tiercel/contracts/backend_contract"
require "tiercel/backends/file"
require "tmpdir"

class FileBackendTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def before_setup
    super
    @directory = Dir.mktmpdir("tiercel-file")
  end

  def after_teardown
    super
    FileUtils.rm_rf(@directory)
  end

  def path = File.join(@directory, "cache")

  def build_backend(**) = Tiercel::Backends::File.new(path, **)

  def build_peer = build_backend
end
