# frozen_string_literal: true

# suites: store*

require "test_helper"
require "rake"
require "tiercel/segment"

class SegmentReportTest < Tiercel::TestCase
  def setup
    super
    @path = File.join(dir, "tiercel-test-0.v3")
    @segment = Tiercel::Segment.open(@path, bytes: 2 << 20)
    30.times { |index| @segment.set("views/#{index}", "x" * 1_000) }
    5.times { |index| @segment.set("user:#{index}", "x" * 100) }
    @segment.get("user:1")
    @segment.get("nothing")
    @report = Tiercel::Segment::Report.new(dir)
  end

  def teardown
    @segment.close
    super
  end

  def test_the_list
    File.write(File.join(dir, "tiercel-broken-0.v3"), "no segment" * 1_000)
    header, broken, good = @report.list.lines
    page = File.read(File.expand_path("../../docs/getting-started.md", __dir__))
    shape = ->(text) { text.gsub(%r{\S*/\S+}, "PATH").gsub(/\d[\d.]*/, "N").squeeze(" ") }
    assert_includes shape[page], shape["#{header}#{good}"]
    assert_match(/tiercel-broken-0.v3 .*its header is damaged/, broken)
    assert_match(/#{@path} +2\.0 MB +\d+\.\d% +35 +50\.0% +0/, good)
    assert_match(/No segments/, Tiercel::Segment::Report.new(File.join(dir, "none")).list)
  end

  def test_tasks_say_what_is_missing
    application = Rake.with_application { load File.expand_path("../../lib/tasks/tiercel.rake", __dir__) }
    error = assert_raises(ArgumentError) { application["tiercel:segments:resize"].invoke(@path) }
    assert_equal 'size missing: expected rake "tiercel:segments:resize[PATH,SIZE]"', error.message
    assert_match(/path missing/,
                 assert_raises(ArgumentError) { application["tiercel:segments:remove"].invoke }.message)
    application["tiercel:segments:remove"].reenable
    error = assert_raises(Tiercel::Unavailable) { application["tiercel:segments:remove"].invoke("#{@path}.none") }
    assert_match(/none does not exist/, error.message)
    refute_path_exists "#{@path}.none.lock"
  end
end
