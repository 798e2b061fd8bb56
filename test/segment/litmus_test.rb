# frozen_string_literal: true

# suites: store

require "test_helper"
require "open3"

# The memory orders on which the segment relies, as tests for herd7, the simulator of ARM's official model. herd7.txt
# contains its results; if herd7 is installed, the test runs it again.
class SegmentLitmusTest < Tiercel::TestCase
  FOLDER = File.expand_path("../native/litmus", __dir__)
  KEPT = File.read("#{FOLDER}/herd7.txt")
  FILES = Dir["#{FOLDER}/*.litmus"]

  FILES.each do |path|
    name = File.basename(path, ".litmus")
    expected = name.end_with?("-without-fence", "-without-release") ? "Sometimes" : "Never"

    define_method("test_#{name.tr("-", "_")}") do
      assert_equal name, File.read(path)[/\AAArch64 (\S+)$/, 1]
      assert_equal [expected], KEPT.scan(/^Observation #{name} (\w+) /).flatten
      next unless herd7?
      assert_match(/^Observation #{name} #{expected} /, Open3.capture2e("herd7", path).first)
    end
  end

  def test_each_weaker_form_has_the_form_that_holds
    weaker = FILES.map { |path| File.basename(path, ".litmus") }.grep(/-without-/)
    assert_operator weaker.size, :>=, 5
    weaker.each { |name| assert_path_exists "#{FOLDER}/#{name[/\A(.+?)-without-/, 1]}.litmus" }
  end

  private

  def herd7? = ENV.fetch("PATH").split(":").any? { |folder| File.executable?("#{folder}/herd7") }
end
