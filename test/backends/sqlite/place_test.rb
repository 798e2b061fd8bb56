# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/backends/sqlite"

# Where the file of `sqlite:` is, however it is named.
class SQLitePlaceTest < Tiercel::TestCase
  def test_paths_of_any_characters
    with_tmpdir do |directory|
      ["a b", "wäre?x=1", "x#y", "100%41", ":memory:", "file:x", "caf\xE9".b].each do |name|
        backend = Tiercel::Backends::SQLite.new(File.join(directory.b, name.b))
        assert_equal true, backend.set("größe", "value"), name
        assert_includes Dir.children(directory).map(&:b), name.b
        backend.close
      end
    end
  end

  def test_a_relative_path_stays_where_it_was
    with_tmpdir do |directory|
      backend = Dir.chdir(directory) { Tiercel::Backends::SQLite.new("cache.sqlite3") }
      assert_equal true, backend.set("key", "value")
      assert_path_exists File.join(directory, "cache.sqlite3")
      backend.close
    end
  end

  def test_a_symbolic_link_to_the_file
    with_tmpdir do |directory|
      Dir.mkdir(File.join(directory, "disk"))
      target = File.join(directory, "disk", "cache.sqlite3")
      link = File.join(directory, "cache.sqlite3")
      File.symlink("disk/cache.sqlite3", link)
      File.binwrite(target, "no database" * 1_000)
      backend = Tiercel::Backends::SQLite.new(link)
      assert_raises(Tiercel::Refused) { backend.set("key", "value") }
      assert_equal true, backend.set("key", "value")
      assert File.symlink?(link)
      assert_equal 1, Dir["#{target}.set-aside-*"].size
      assert_path_exists "#{target}-wal"
      backend.close
    end
  end

  def test_links_that_lead_nowhere
    with_tmpdir do |directory|
      link = File.join(directory, "circle")
      File.symlink("circle", link)
      assert_raises(Tiercel::Unavailable) { Tiercel::Backends::SQLite.new(link).get("key") }
    end
  end
end
