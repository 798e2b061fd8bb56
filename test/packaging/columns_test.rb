# frozen_string_literal: true

require "test_helper"
require_relative "../support/committed_files"

# The formatting rules of ARCHITECTURE.md for Ruby and C.
class ColumnsTest < Tiercel::TestCase
  COLUMNS = 120
  SOURCES = %r{\.(rb|rake|ru|gemspec|gemfile|c|h)\z|\A(Gemfile|Rakefile)\z|\Atiercel-lab/exe/}

  def test_no_line_of_ruby_or_c_is_longer
    sources = CommittedFiles.paths.grep(SOURCES)
    assert_includes sources, "lib/tiercel/version.rb"
    assert_empty(sources.flat_map { |path| long_lines(path) }, "break these lines: at most #{COLUMNS} columns")
  end

  private

  # @return [Array<String>] "PATH:LINE: COLUMNS" of each line that is too long
  def long_lines(path, root = CommittedFiles::ROOT)
    lines = File.readlines(File.join(root, path), chomp: true, encoding: "UTF-8")
    lines.each.with_index(1).filter_map do |line, number|
      "#{path}:#{number}: #{line.size}" if line.size > COLUMNS
    end
  end
end
