# frozen_string_literal: true

require "tmpdir"
require_relative "support"

# `shared:`, with one segment for all stores of a test, as for all processes of a machine.
class SharedBehavioursTest < RailsBehaviours::TestCase
  include(*RailsBehaviours::MEMORY)

  def teardown
    super
    FileUtils.rm_rf(@directory) if @directory
  end

  private

  def url = "shared:#{@directory ||= Dir.mktmpdir("tiercel-behaviours-")}/segment?size=8MB"

  # A near backend stores small values uncompressed, because that is cheaper.
  def compression_always_disabled_by_default? = true
end
