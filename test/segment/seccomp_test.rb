# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "active_support/cache/tiercel_store"
require_relative "../support/seccomp_filter"

# A process whose container forbids a system call: the store works, or every call is a miss with one report.
class SegmentSeccompTest < Tiercel::TestCase
  # Possible results of the calls, in the order of the calls.
  WORKS = [true, "value", 1].freeze
  MISSES = [nil, nil, nil].freeze

  SeccompFilter.names.each do |name|
    define_method("test_#{name}_is_forbidden") do
      skip_without_filters
      with_tmpdir do |directory|
        Tiercel.new("shared:#{directory}/there", size: "8MB").tap { |store| store.write("old", 1) }.close
        outcomes, = fork_and_wait(1) do
          SeccompFilter.forbid(name)
          %w[new there].map { |file| outcome("#{directory}/#{file}") }
        end
        outcomes.each { |calls, reports| check(calls, reports) }
        assert_equal 1, Tiercel.new("shared:#{directory}/there").read("old"), "nothing is lost to others"
      end
    end
  end

  # The call is forbidden after the process has opened the segment. The process keeps its registration, but a child
  # gets none.
  def test_record_locks_are_forbidden_to_a_child
    skip_without_filters
    with_tmpdir do |directory|
      store = Tiercel.new("shared:#{directory}/there", size: "8MB")
      store.write("old", 1)
      reports, = fork_and_wait(1) do
        SeccompFilter.forbid(:fcntl)
        capture_reports { capture_io { 3.times { store.write("key", "value") } } }.map { |report| report.error.message }
      end
      assert_equal 1, reports.size, reports.inspect
      refute_match(/512/, reports.first)
      store.close
    end
  end

  def test_the_filter_forbids
    skip_without_filters
    assert_equal [Errno::EPERM], (fork_and_wait(1) do
      SeccompFilter.forbid(:ftruncate)
      with_tmpdir { |directory| File.open("#{directory}/file", "w") { |file| file.truncate(9) } }
    rescue SystemCallError => error
      error.class
    end)
  end

  private

  def skip_without_filters
    @possible ||= fork_and_wait(1) { possible? }.first
    skip "the kernel lets no filter be set" unless @possible
  end

  def possible?
    SeccompFilter.forbid(SeccompFilter.names.first)
    true
  rescue SystemCallError
    false
  end

  # @return [Array(Array, Array)] results of the calls, and reports
  def outcome(path)
    calls = nil
    reports = capture_reports do
      capture_io do
        store = Tiercel.new("shared:#{path}", size: "8MB")
        calls = Array.new(3) { |time| [store.write("key", "value"), store.read("key"), store.increment("n#{time}")] }
      end
    end
    [calls, reports.map { |report| [report.error.class.name, report.error.message] }]
  end

  def check(calls, reports)
    assert_equal 1, calls.uniq.size, calls.inspect
    assert_includes [WORKS, MISSES], calls.first, reports.inspect
    return assert_empty(reports) if calls.first == WORKS
    assert_equal 1, reports.size, reports.inspect
    # Without file locks a process cannot register; it may only read and delete.
    assert_match(/cannot be created: requested |delete only: .*\.lock cannot be opened or locked \(fcntl\): Op/,
                 reports.first.last)
  end
end
