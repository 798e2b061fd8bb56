# frozen_string_literal: true

require "tmpdir"
require_relative "support"

# `file:`, with one folder for all stores of a test.
class FileBehavioursTest < RailsBehaviours::TestCase
  include(*RailsBehaviours::FILE)
  include EncodedKeyCacheBehavior

  def teardown
    super
    FileUtils.rm_rf(@directory) if @directory
  end

  private

  def url = "file:#{@directory ||= Dir.mktmpdir("tiercel-behaviours-")}"
end
