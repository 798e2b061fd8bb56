# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/canned"

# A device that is always full stands for a full disk.
class CommandTest < LabCase
  FULL = "/dev/full"

  def setup
    super
    skip "no #{FULL} here" unless File.exist?(FULL)
  end

  def kept
    cells = Canned.cells(compare("memory_store", "null_store"), "memory_store" => 2_000, "null_store" => 1_000)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "run.json")
      File.write(path, JSON.generate(Canned.results(command: "compare", cells:)))
      yield path
    end
  end

  def test_a_report_that_cannot_be_written_is_printed
    kept do |path|
      code, out, err = lab("report", path, "--html", FULL)
      assert_equal 2, code
      assert_match(/^null_store +\d/, out)
      assert_match(%r{#{FULL} was not written: No space left on device; bin/lab report #{path} renders}, err)
    end
  end

  def test_a_full_disk_behind_the_output
    kept do |path|
      out = StringIO.new
      out.define_singleton_method(:flush) { raise Errno::ENOSPC }
      code, _, err = lab("report", path, out:)
      assert_equal 2, code
      assert_match(/not everything was written: No space left/, err)
    end
  end

  def test_files_of_a_gate_need_a_folder
    %w[--junit --comment].each do |option|
      code, _, err = lab("gate", option, "/nowhere/file", "--plan")
      assert_equal 2, code
      assert_match(%r{#{option} /nowhere/file: the folder /nowhere does not exist}, err)
    end
  end

  def test_a_folder_that_init_cannot_write_into
    skip "no /proc here" unless File.directory?("/proc/self")
    code, _, err = lab("init", "gate", "--kind", "gem", "--repository", "/proc")
    assert_equal 2, code
    assert_match(/was not written: .*--repository DIR/, err)
  end
end
