# frozen_string_literal: true
# suites: store

require "test_helper"
require "fileutils"
require "tiercel/backends/sqlite"

# Another process moves the file away while this process examines it. This used to be mistaken for another program's
# file, which prevented a boot.
class SQLiteSetAsideTest < Tiercel::TestCase
  CacheFile = Tiercel::Backends::SQLite::CacheFile

  def test_it_is_gone
    with_cache { |path| assert_raises(CacheFile::Missing) { moved_meanwhile(path).verify } }
  end

  def test_a_new_one_is_there
    with_cache { |path| assert_nil moved_meanwhile(path) { |aside| FileUtils.cp(aside, path) }.verify }
  end

  def test_another_programs_is_there
    with_cache do |path|
      file = moved_meanwhile(path) { File.binwrite(path, "no database" * 100) }
      FileUtils.rm_f("#{path}.lock")
      assert_match(/not a database/, assert_raises(CacheFile::Foreign) { file.verify }.message)
    end
  end

  private

  def with_cache
    with_tmpdir do |directory|
      path = File.join(directory, "cache.sqlite3")
      Tiercel::Backends::SQLite.new(path).tap { |backend| backend.set("key", "value") }.close
      yield path
    end
  end

  # Moves the file when it is first examined.
  #
  # @yieldparam aside [String] the new path
  def moved_meanwhile(path, &now)
    CacheFile.new(path, 1.0).tap do |file|
      moved = false
      file.define_singleton_method(:look_into) do |&block|
        next super(&block) if moved
        moved = true
        File.rename(path, "#{path}.aside")
        begin
          super(&block)
        ensure
          now&.call("#{path}.aside")
        end
      end
    end
  end
end
