# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "tiercel/backends/shared"

class SharedTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def setup
    @directory = Dir.mktmpdir("tiercel-shared")
    super
  end

  def teardown
    super
    @backend&.close
    FileUtils.remove_entry(@directory)
  end

  def build_backend(size: "16MB", **options)
    Tiercel::Backends::Shared.build(Tiercel::BackendURL.parse("shared:#{path}"), { size: size, **options })
  end

  def build_peer = build_backend

  def path = File.join(@directory, "segment")
end
