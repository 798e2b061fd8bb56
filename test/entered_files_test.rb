# frozen_string_literal: true
# suites: store

require "test_helper"
require "json"
require "open3"
require "support/entered_files"

# The files that a call enters match the numbers in ARCHITECTURE.md and the names in test/golden/entered_files.txt.
class EnteredFilesTest < Tiercel::TestCase
  TOGETHER = true # recorded once
  ANEW = "calls enter other files than before; where that is meant: bin/exec rake files"

  # In a separate process, because other tests leave subscribers and patches that change the path of a call.
  RECORD = 'require "json"; all = EnteredFiles.all; ' \
           "puts JSON.generate([EnteredFiles.names(all), EnteredFiles.table(all)])"

  # @return [Array(String, String)] the current names and numbers
  def self.recorded
    @recorded ||= begin
      command = [RbConfig.ruby, "-Ilib", "-Itest", "-rtiercel", "-rsupport/entered_files", "-e", RECORD]
      out, err, status = Open3.capture3(*command, chdir: File.expand_path("..", __dir__))
      raise "#{out}#{err}" unless status.success?
      JSON.parse(out.lines.last)
    end
  end

  def setup = %w[segment codec].each { |name| needs_extension(name) }

  def test_the_names
    made = self.class.recorded.first.lines
    kept = File.readlines(EnteredFiles::NAMES)
    assert_equal [[], []], [made - kept, kept - made], ANEW
    assert_equal kept, made, ANEW
  end

  def test_the_numbers
    rules = File.read(EnteredFiles::RULES)
    assert_equal rules, EnteredFiles.replaced(rules, self.class.recorded.last), ANEW
  end

  # A recorder that records nothing would make all lists equal.
  def test_what_is_entered_is_seen
    names = self.class.recorded.first
    assert_match(/^shared, read hit: .*accessor.* Segment#read$/, names)
    assert_match(/^redis, read hit: .*backends\/remote/, names)
    assert_equal EnteredFiles::PLACES.size * EnteredFiles::CALLS.size * EnteredFiles::WAYS.size, names.lines.size
  end
end
