# frozen_string_literal: true
# suites: kernel, store

require "test_helper"
require "tiercel/segment"

# Several Ractors use one segment, each through a handle of its own. In separate processes, because a process that has
# started a Ractor behaves differently from then on.
class SegmentRactorsTest < Tiercel::TestCase
  def test_ractors_read_and_write_one_segment
    result = run_ractors(<<~RUBY)
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
    result = run_ractors(<<~RUBY)
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

  def test_a_child_of_a_process_with_ractors_is_registered
    result = run_ractors(<<~RUBY)
      ractor = Ractor.new(PATH) do |path|
        segment = Tiercel::Segment.join(path)
        segment.increment("count") until segment.get("stop")
        segment.get("count").to_i.positive?
      end
      Thread.pass until SEGMENT.get("count")
      pid = fork do
        puts SEGMENT.set("child", "1"), SEGMENT.writable?, SEGMENT.pids.size
        $stdout.flush
        exit!(0)
      end
      Process.wait(pid)
      SEGMENT.set("stop", "1")
      puts result_of(ractor), SEGMENT.get("child")
    RUBY
    assert_equal %w[true true 2 true 1], result
  end

  private

  def run_ractors(script)
    with_tmpdir do |dir|
      lines = <<~RUBY
        require "tiercel/segment"
        Warning[:experimental] = false
        Tiercel.eager_load!
        PATH = #{"#{dir}/segment".inspect}
        SEGMENT = Tiercel::Segment.open(PATH, bytes: 4 << 20)
        SEGMENT.set("all", "x" * 1_000)
        def result_of(ractor) = ractor.respond_to?(:value) ? ractor.value : ractor.take
        #{script}
      RUBY
      lib = File.expand_path("../../lib", __dir__)
      output = IO.popen([RbConfig.ruby, "-I", lib, "-e", lines], err: %i[child out], &:read)
      assert_predicate $?, :success?, output
      output.split
    end
  end
end
