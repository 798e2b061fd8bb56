# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "open3"

# While the C form walks through a value, it calls no method. So no other thread runs, and nothing changes or raises.
# An exception after the walk leaks no memory.
class CodecWalkTest < Tiercel::TestCase
  LIB = File.expand_path("../../lib", __dir__)
  LARGE = (0...20).to_h { |i| [i, "value #{i}"] }.freeze
  ROWS = Array.new(30) { |i| LARGE.transform_values { |text| "#{i} #{text}" } }.freeze
  VALUES = [
    LARGE, [LARGE.dup, { a: LARGE.dup }], ROWS, Hash.new(1).merge(LARGE), Hash.new { 1 }.merge(LARGE),
    {}.compare_by_identity.merge(LARGE), Hash.ruby2_keywords_hash(LARGE), Hash.new([]), {},
    [[LARGE.dup], "text", :symbol, 1.5, 2**70, Object.new], { Object.new => 1 }, Class.new(Hash).new.merge!(LARGE)
  ].freeze

  def setup
    skip "the extension is not built" unless Tiercel::Codec.native
  end

  def test_no_method_is_called
    VALUES.each do |value|
      calls = []
      native = self.native
      trace = TracePoint.new(:call, :c_call) { |point| calls << [point.self, point.method_id] }
      trace.enable do
        native.dump(value)
        native.dump_frame(value, nil, "1", true, true, nil)
      end

      assert_equal [[native, :dump], [native, :dump_frame]], calls, value.class
    end
  end

  def test_exceptions_that_arrive_meanwhile_leave_nothing_behind
    growth = growth_of("resident", <<~RUBY)
      graph = [Array.new(10) { "x" * 1_000_000 }, Array.new(20_000) { |i| (0...9).to_h { |j| [j, i] } }]
      armed = false
      Signal.trap(:USR1) { (armed = false) || raise(Interrupt) if armed }
      parent = Process.pid
      reader, writer = IO.pipe
      fork { writer.close; Process.kill(:USR1, parent) until reader.wait_readable(0.003); exit!(0) }
      work = lambda do
        25.times do
          armed = true
          loop { native.dump(graph) }
        rescue Interrupt
          armed = false
        end
        GC.start
      end
    RUBY

    assert_operator growth, :<, 120, "MB more after 25 exceptions; 250 if each left the payload that was begun"
  end

  def test_a_frame_that_finds_no_memory_leaves_nothing_behind
    growth = growth_of("address_space", <<~RUBY)
      graph = Array.new(60) { "x" * 1_000_000 }
      work = lambda do
        GC.start
        Process.setrlimit(:AS, (address_space + 100) * 1_000_000, Process::RLIM_INFINITY)
        3.times do
          native.dump(graph)
          abort "there was memory"
        rescue NoMemoryError
          nil
        end
        Process.setrlimit(:AS, Process::RLIM_INFINITY, Process::RLIM_INFINITY)
        native.dump([1]) or abort "nothing is dumped any more"
      end
    RUBY

    assert_operator growth, :<, 30, "MB more after dumps for which there was no memory; 64 if one left its buffer"
  end

  private

  def native = Tiercel::Codec.native

  MEASURE = <<~RUBY
    require "tiercel"
    def native = Tiercel::Codec.native
    def resident = File.read("/proc/self/statm").split[1].to_i * 4096 / 1_000_000
    def address_space = File.read("/proc/self/status")[/VmSize:\\s+(\\d+)/, 1].to_i / 1_000
  RUBY
  private_constant :MEASURE

  # Growth of the process in MB between the first and the second `work`.
  def growth_of(what, script)
    skip "this system has no /proc" unless File.exist?("/proc/self/statm")
    code = "#{MEASURE}#{script}work.call\nbefore = #{what}\nwork.call\nputs #{what} - before\n"
    output, status = Open3.capture2e(RbConfig.ruby, "-I#{LIB}", "-e", code)
    assert_predicate status, :success?, output
    Integer(output[/^-?\d+$/] || flunk(output))
  end
end
