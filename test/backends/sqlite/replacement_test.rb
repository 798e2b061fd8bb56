# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/backends/sqlite"

class SQLiteReplacementTest < Tiercel::TestCase
  def test_files_of_one_second_are_all_kept
    with_tmpdir do |directory|
      path = File.join(directory, "cache.sqlite3")
      names = %w[first second third].map do |content|
        File.write(path, content)
        File.write("#{path}-wal", "log of the #{content}")
        Tiercel::Backends::SQLite::Replacement.new(path).call { true }
      end
      assert_equal(%w[first second third], names.map { |name| File.read(name) })
      assert_equal("log of the third", File.read("#{names.last}-wal"))
    end
  end

  def test_what_another_process_replaced_stays
    with_tmpdir do |directory|
      path = File.join(directory, "cache.sqlite3")
      File.write(path, "sound")
      assert_nil(Tiercel::Backends::SQLite::Replacement.new(path).call { false })
      assert_equal "sound", File.read(path)
    end
  end
end
