# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/segment"

# A write to a part of the file that this process has not touched yet maps several pages at once.
class SegmentPagesTest < Tiercel::TestCase
  PAGE = 4096
  ENTRIES = 1_000
  BYTES = 16 << 20

  def setup
    super
    skip "page faults are counted, and shared memory lies, where Linux has them" unless File.writable?("/dev/shm") &&
                                                                                       File.exist?("/proc/self/stat")
    @directory = Dir.mktmpdir("tiercel-pages", "/dev/shm")
  end

  def teardown
    FileUtils.remove_entry(@directory) if @directory
    super
  end

  def test_a_new_file
    assert_few_faults(segment)
  end

  # Every worker of a server is in this situation.
  def test_a_file_that_another_process_has_made
    script = "file = Tiercel::Segment.open(ARGV[0], bytes: #{BYTES}); #{ENTRIES}.times { |i| file.set(i.to_s, 'x') }"
    assert system(RbConfig.ruby, "-I#{File.expand_path('../../lib', __dir__)}", "-rtiercel/segment", "-e", script, path)
    assert_few_faults(segment)
  end

  private

  def path = "#{@directory}/s"

  def segment = Tiercel::Segment.open(path, bytes: BYTES)

  def fill(segment)
    value = "x" * (PAGE - 100)
    names.each { |name| segment.set(name, value) }
  end

  # Created before the count, so that Ruby's heap does not grow during it.
  def names = @names ||= Array.new(ENTRIES) { |number| "name #{number}" }

  def assert_few_faults(segment)
    names
    GC.start
    GC.disable # a worker that was forked copies the pages that GC marks
    before = faults
    fill(segment)
    assert_operator faults - before, :<, ENTRIES / 3
  ensure
    GC.enable
  end

  def faults = File.read("/proc/self/stat").split[9].to_i
end
