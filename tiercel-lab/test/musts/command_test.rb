# frozen_string_literal: true

require_relative "../support/lab_case"
require "open3"

# The command exists in this repository, but not in the gem.
class MustsCommandTest < LabCase
  FOLDER = File.expand_path("../..", __dir__)

  def test_the_command_is_the_repositorys
    out, status = Open3.capture2e(RbConfig.ruby, File.join(FOLDER, "musts/run.rb"), "choice", "--help")
    assert status.success?, out
    assert_match(/choice --quick/, out)
  end

  def test_the_gem_is_without_it
    out, status = Open3.capture2e(RbConfig.ruby, File.join(FOLDER, "exe/tiercel-lab"), "choice", "--help")
    assert_equal 2, status.exitstatus
    assert_match(/command "choice" is not known/, out)
    help, = Open3.capture2e(RbConfig.ruby, File.join(FOLDER, "exe/tiercel-lab"), "--help")
    refute_match(/choice|Your tables/, help)
    assert_empty Dir.glob("lib/**/*choice_*", base: FOLDER)
  end
end
