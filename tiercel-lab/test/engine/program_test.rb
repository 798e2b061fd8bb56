# frozen_string_literal: true

require_relative "../support/lab_case"

class ProgramTest < LabCase
  Program = Lab::Engine::Program

  def test_success_and_failure
    assert Program.run("true")
    refute Program.run("false")
    refute Program.run("/nowhere/program")
  end

  def test_it_ends_with_its_caller
    Dir.mktmpdir do |folder|
      file = File.join(folder, "pid")
      caller = Thread.new { Program.run("/bin/sh", "-c", "echo $$ > #{file}; sleep 100") }
      wait_until("its start", within: 10) { File.exist?(file) && File.read(file).end_with?("\n") }
      caller.kill.join
      assert_raises(Errno::ESRCH) { Process.kill(0, File.read(file).to_i) }
    end
  end
end
