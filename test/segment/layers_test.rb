# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"

# The C core has no circles: segment.c lists its files in the order of their layers, and each file calls and
# includes only what lies above it in that list.
class SegmentLayersTest < Tiercel::TestCase
  FOLDER = File.expand_path("../../ext/tiercel/segment", __dir__)
  # Headers without a file of the same name, and the file whose layer they belong to.
  HEADERS = { "layout.h" => "format", "files.h" => "presence", "shard.h" => "log", "entries.h" => "lease_table" }.freeze
  LINES = 600

  def test_files_call_only_files_of_lower_layers
    upward = files.flat_map do |file|
      called = code(file).scan(/\b(tseg_\w+)\s*\(/).flatten.uniq
      called.filter_map { |name| "#{file} calls #{name} of #{defined[name]}" if rank(defined[name]) > rank(file) }
    end
    assert_empty upward
    assert_operator defined.size, :>, 100
  end

  def test_files_include_only_headers_of_lower_layers
    upward = (files.map { |file| "#{file}.c" } + headers).flat_map do |name|
      included(name).filter_map { |header| "#{name} includes #{header}" if rank(owner(header)) > rank(owner(name)) }
    end
    assert_empty upward
  end

  # Two headers of one layer could still include each other.
  def test_headers_include_no_header_that_includes_them
    headers.each { |header| refute_includes reachable(header), header }
  end

  # A system with musl may lack the headers of Linux.
  def test_the_core_contains_no_ruby_and_no_header_of_linux
    files.each { |file| refute_match(%r{\brb_\w+\(|ruby\.h|\bVALUE\b|<linux/}, code(file), file) }
  end

  # The retry loop and all waits are in the core; binding.c lends it Ruby's lock.
  def test_the_binding_repeats_no_call_and_waits_for_nothing
    bindings.each do |name|
      refute_match(/\b(?:TSEG_RETIRED|TSEG_WOULD_WAIT|tseg_may_wait|tseg_watch|tseg_sleep|tseg_hold|nanosleep)\b/,
                   code(name), name)
      next if name == "binding"
      refute_match(/rb_thread_call_without_gvl|rb_thread_schedule/, code(name), name)
    end
  end

  def test_no_file_is_long
    long = Dir["#{FOLDER}/*.[ch]"].select { |path| File.readlines(path).size > LINES }
    assert_empty long.map { |path| File.basename(path) }
  end

  private

  def files
    @files ||= read("segment.c").scan(/^#include "(\w+)\.c"/).flatten.reject { |name| name.start_with?("binding") }
  end

  def bindings = Dir["#{FOLDER}/binding*.c"].map { |path| File.basename(path, ".c") }

  def headers = Dir.children(FOLDER).grep(/\.h\z/).reject { |name| name.start_with?("binding") }.sort

  def read(name) = File.read(File.join(FOLDER, name))

  def code(file) = read("#{file}.c").gsub(%r{/\*.*?\*/}m, "").gsub(/"(?:\\.|[^"])*"/, '""')

  # @return [Hash{String => String}] function => the file that defines it
  def defined
    @defined ||= files.each_with_object({}) do |file, all|
      code(file).scan(/^(?!static)[a-z][\w *]*?\b(tseg_\w+)\([^;{]*\)\s*\{/) { |(name)| all[name] = file }
    end
  end

  def owner(name) = HEADERS.fetch(name) { name.delete_suffix(".h").delete_suffix(".c") }

  def rank(file) = file ? files.index(file) || flunk("#{file} is in no layer") : -1

  def included(name) = read(name).scan(/^#include "(\w+\.h)"/).flatten

  def reachable(header, seen = [])
    included(header).each { |name| reachable(name, seen << name) unless seen.include?(name) }
    seen
  end
end
