# frozen_string_literal: true
# suites: kernel, store

require "test_helper"
require "tiercel/segment"
require_relative "../support/ractor_script"

# Several Ractors use one segment, each through a handle of its own.
class SegmentRactorsTest < Tiercel::TestCase
  include RactorScript

  def test_ractors_read_and_write_one_segment
    result = run_script(<<~RUBY)
      ractors = Array.new(3) do |number|
        Ractor.new(PATH, number) do |path, number|
          segment = Tiercel::Segment.join(path)
          2_000.times do |turn|
            key = "\#{number}/\#{turn % 50}"
            segment.set(key, "value \#{turn}")
            raise "lost \#{key}" unless segment.get(key) == "value \#{turn}"
            raise "still there" if segment.delete(key) && segment.get(key)
            segment.increment("count")
            raise "other bytes" unless segment.get("all") == "x" * 1_000
          end
          2_000
        end
      end
      5_000.times { SEGMENT.increment("count") }
      puts ractors.sum { |ractor| result_of(ractor) } + 5_000, SEGMENT.get("count"), SEGMENT.pids == [Process.pid]
    RUBY
    assert_equal %w[11000 11000 true], result
  end

  def test_a_ractor_attaches_as_long_as_it_needs_and_the_others_keep_the_segment
    result = run_script(<<~RUBY)
      20.times do
        result_of(Ractor.new(PATH) { |path| Tiercel::Segment.join(path).tap { _1.set("mine", "1") }.close })
        GC.start
      end
      puts SEGMENT.get("mine"), SEGMENT.get("all").size, SEGMENT.writable?
      ractor = Ractor.new(PATH) do |path|
        segment = Tiercel::Segment.join(path)
        segment.set("ready", segment.get("all").size.to_s)
        Thread.pass while segment.get("all")
        segment.set("new", "1")
      end
      Thread.pass until SEGMENT.get("ready")
      Tiercel::Segment.remove(PATH)
      puts SEGMENT.get("all").inspect, result_of(ractor), SEGMENT.get("new")
    RUBY
    assert_equal %w[1 1000 true nil true 1], result
  end

  # Ruby's own fork may never end while another Ractor runs.
  def test_a_child_of_a_process_that_had_ractors_is_registered
    result = run_script(<<~RUBY)
      result_of(Ractor.new(PATH) { |path| Tiercel::Segment.join(path).set("ractor", "1") })
      pid = fork do
        puts SEGMENT.get("ractor"), SEGMENT.set("child", "1"), SEGMENT.pids.size
        puts result_of(Ractor.new(PATH) { |path| Tiercel::Segment.join(path).get("child") })
        $stdout.flush
        exit!(0)
      end
      Process.wait(pid)
      puts SEGMENT.get("child"), SEGMENT.pids == [Process.pid]
    RUBY
    assert_equal %w[1 true 2 1 1 true], result
  end

  private

  def run_script(script)
    with_tmpdir do |dir|
      run_ractors(<<~RUBY)
        require "tiercel/segment"
        Tiercel.eager_load!
        PATH = #{"#{dir}/segment".dump}.freeze
        SEGMENT = Tiercel::Segment.open(PATH, bytes: 4 << 20)
        SEGMENT.set("all", "x" * 1_000)
        #{script}
      RUBY
    end
  end
end
