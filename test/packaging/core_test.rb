# frozen_string_literal: true

require "test_helper"

# The rules about the segment's C code in ARCHITECTURE.md: the core contains no Ruby, and the binding no algorithm.
class CoreTest < Tiercel::TestCase
  FOLDER = File.expand_path("../../ext/tiercel/segment", __dir__)
  BINDING, CORE = Dir["#{FOLDER}/*.{c,h}"].partition { |path| File.basename(path).start_with?("binding") }
  # The extension as one file, which includes both.
  WHOLE = "segment_ext.c"
  # The results that the core's retry loop handles, and the ways to wait.
  REPEATED_OR_WAITED = /\b(?:TSEG_RETIRED|TSEG_WOULD_WAIT|tseg_may_wait|tseg_watch|tseg_sleep|tseg_hold|nanosleep)\b/
  MOST_LINES = 300

  def test_the_core_contains_no_ruby
    (CORE.reject { |path| File.basename(path) == WHOLE }).each do |path|
      refute_match(/#include [<"]ruby|\bVALUE\b|\brb_\w+\(/, code(path), path)
    end
  end

  def test_the_binding_repeats_no_call_and_waits_for_nothing
    BINDING.each { |path| refute_match(REPEATED_OR_WAITED, code(path), path) }
  end

  def test_only_the_host_gives_up_rubys_lock
    others = BINDING.reject { |path| File.basename(path) == "binding_host.c" }
    others.each { |path| refute_match(/rb_thread_call_without_gvl|rb_thread_schedule/, code(path), path) }
  end

  def test_files_are_short
    (BINDING + CORE).each { |path| assert_operator File.foreach(path).count, :<=, MOST_LINES, path }
  end

  private

  def code(path) = File.read(path).gsub(%r{/\*.*?\*/}m, "")
end
