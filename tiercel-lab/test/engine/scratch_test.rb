# frozen_string_literal: true

require_relative "../support/lab_case"

class ScratchTest < LabCase
  def test_folders_come_and_go_and_those_of_killed_runs_with_them
    Dir.mktmpdir do |disk|
      gone = Process.spawn("true").tap { |pid| Process.wait(pid) }
      left = File.join(disk, "#{Lab::Engine::Scratch::NAME}-#{gone}-x")
      ours = File.join(disk, "#{Lab::Engine::Scratch::NAME}-#{Process.pid}-other")
      [left, ours].each { |path| Dir.mkdir(path) }
      scratch = Lab::Engine::Scratch.new(tmpfs: "/nowhere/at/all", disk:)
      assert_equal ["disk"], scratch.folders.keys
      refute File.exist?(left)
      assert File.exist?(ours)
      scratch.remove
      refute File.exist?(scratch.folders["disk"])
    end
  end

  def test_a_folder_that_cannot_be_used_is_named
    file = __FILE__
    error = assert_raises(Lab::UsageError) { Lab::Engine::Scratch.new(disk: File.join(file, "below")) }
    assert_match(/below cannot be created: .*; TIERCEL_LAB_DISK names another\z/, error.message)
    with_env("TIERCEL_LAB_TMPFS" => file) do
      error = assert_raises(Lab::UsageError) { Lab::Engine::Scratch.new }
      assert_match(/TIERCEL_LAB_TMPFS: .* is not a folder/, error.message)
    end
  end

  def test_a_context_without_the_medium_says_so
    context = Lab::Engine::Context.new(servers: { "redis" => { "error" => "redis-server is not installed: apt-get" } },
                                       folders: {}, label: "t")
    assert_match(/no tmpfs here/, assert_raises(Lab::CannotRun) { context.directory("tmpfs") }.message)
    assert_match(/apt-get/, assert_raises(Lab::CannotRun) { context.server(:redis) }.message)
  end
end
