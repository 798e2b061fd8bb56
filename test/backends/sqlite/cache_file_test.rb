# frozen_string_literal: true
# suites: store

require "test_helper"
require "minitest/mock"
require "support/held_by_another"
require "sqlite3"
require "active_support/cache/tiercel_store"

# The location and the owner of the `sqlite:` file.
class SQLiteCacheFileTest < Tiercel::TestCase
  NOBODY = 65_534

  def setup
    @path = File.join(dir, "production.sqlite3")
    @open = []
  end

  def teardown
    @open.each(&:close)
  end

  def test_another_programs_database_is_refused_and_stays_as_it_is
    %w[delete wal].each do |mode|
      make_database(mode)
      assert_untouched(/application_id 0/)
      FileUtils.rm_f(Dir["#{@path}*"])
    end
  end

  def test_a_live_database_with_its_log_stays_as_it_is
    HeldByAnother.while(-> { make_database("wal", close: false) }) do
      assert_path_exists "#{@path}-wal"
      assert_untouched(/application_id 0/)
      File.write("#{@path}.lock", "") # of a cache that was removed
      assert_match(/tables: users/, assert_raises(Tiercel::Refused) { build.get("key") }.message)
      assert_empty set_aside
    end
  end

  def test_any_other_file_is_refused_and_stays_as_it_is
    { "no database" * 1_000 => /not a database/, "" => /not a cache/, "SQLite format 3\0" => /not a cache/,
      "x" => /not a cache/, Random.new(1).bytes(20_000) => /not a database/ }.each do |content, message|
      File.binwrite(@path, content)
      assert_untouched(message)
    end
    FileUtils.rm(@path)
    Dir.mkdir(@path)
    assert_untouched(/not a regular file/)
    Dir.rmdir(@path)
    File.mkfifo(@path)
    assert_match(/not a regular file/, assert_raises(Tiercel::ConfigurationError) { build }.message)
  end

  def test_what_another_database_left_stays_as_it_is
    %w[-wal -journal -shm].each do |ending|
      File.binwrite("#{@path}#{ending}", "rows that were never written back")
      assert_untouched(/belongs to a database that no longer exists/)
      FileUtils.rm("#{@path}#{ending}")
    end
  end

  def test_a_database_that_takes_the_place_of_a_cache_is_refused_though_the_mark_is_there
    build.tap { |backend| backend.set("key", "value") }.close
    FileUtils.rm(@path)
    make_database("delete")
    assert_untouched(/application_id 0/)
  end

  def test_a_database_that_comes_while_the_cache_is_used_is_left_alone
    backend = build
    backend.set("key", "value")
    FileUtils.rm(Dir["#{@path}*"])
    make_database("delete")
    before = contents
    errors = 100.times.filter_map do
      backend.get("key")
      nil
    rescue Tiercel::BackendError => error
      error
    end
    refute_empty errors
    assert_equal [Tiercel::Refused], errors.map(&:class).uniq
    assert_equal before, contents
  end

  def test_tables_of_an_application_in_a_cache_are_left_alone
    build.tap { |backend| backend.set("key", "value") }.close
    in_child { SQLite3::Database.open(@path) { |database| database.execute("ANALYZE") } } # sqlite_stat1
    build.tap { |backend| assert_equal "value".b, backend.get("key") }.close
    in_child { SQLite3::Database.open(@path) { |database| database.execute("CREATE TABLE users (name)") } }
    error = assert_raises(Tiercel::ConfigurationError) { build }
    assert_match(/tables: entries, totals, users/, error.message)
    assert_equal 1, in_child { SQLite3::Database.new(@path).get_first_value("SELECT count(*) FROM entries") }
  end

  # Overwrites a range (offset, length), or truncates the file.
  def damage(range)
    return File.truncate(@path, 0) unless range
    in_child { File.open(@path, "r+b") { |file| file.pwrite("\xAA" * range[1], range[0]) } }
  end

  def test_a_damaged_cache_is_moved_away
    { "all of it" => [0, 40_000], "its beginning" => [0, 16], "its application id" => [68, 4],
      "its page size" => [16, 2], "nothing left" => nil }.each do |what, range|
      FileUtils.rm_f(Dir["#{@path}*"])
      build.tap { |backend| backend.set_multi((0...100).to_h { |i| ["key#{i}", "x" * 500] }) }.close
      damage(range)
      backend = build
      2.times { backend.set("key", "value") rescue nil }
      assert_equal "value".b, backend.get("key"), what
      backend.close
    end
  end

  def test_logs_that_a_removed_cache_left_are_not_replayed
    backend = build
    backend.set_multi((0...100).to_h { |i| ["key#{i}", "x" * 500] })
    FileUtils.rm(@path)
    assert_path_exists "#{@path}-wal"
    fresh = in_child { build.then { |other| [other.get("key1"), other.set("key", "value"), other.get("key")] } }
    assert_equal [nil, true, "value".b], fresh
  end

  def test_twenty_processes_make_one_file
    answers = fork_and_wait(20) { |index| build.then { |backend| backend.set("key#{index}", "value") } }
    assert_equal [true], answers.uniq
    assert_equal 20, build.scan.count
    assert_equal %w[production.sqlite3 production.sqlite3-shm production.sqlite3-wal production.sqlite3.lock],
                 Dir.children(dir).sort
  end

  def test_who_is_killed_while_making_the_file_leaves_none_that_is_refused
    20.times do |round|
      pid = fork { build.set("key", "value") && sleep }
      sleep(0.002 * round)
      Process.kill(:KILL, pid)
      Process.wait(pid)
      backend = build
      assert_equal true, backend.set("key", "value"), "killed after #{2 * round} ms"
      backend.close
      FileUtils.rm_f(Dir["#{@path}*"])
    end
  end

  def test_another_users_file_where_everybody_may_write_is_refused
    skip "giving files away needs root" unless Process.uid.zero?
    build.tap { |backend| backend.set("key", "value") }.close
    File.chown(NOBODY, NOBODY, @path)
    assert_equal "value".b, build.tap { |backend| @open << backend }.get("key")
    File.chmod(0o1777, dir)
    assert_untouched(/belongs to user #{NOBODY}, this process runs as 0, and everybody may write to/)
  end

  def test_another_users_link_or_folder_where_everybody_may_write_is_refused
    skip "giving files away needs root" unless Process.uid.zero?
    File.chmod(0o1777, dir)
    Dir.mkdir(folder = File.join(dir, "folder"))
    File.symlink(folder, link = File.join(dir, "link"))
    File.symlink(link, first = File.join(dir, "first"))
    [folder, link].each do |place|
      File.lchown(NOBODY, NOBODY, place)
      [place, first].each do |way|
        assert_raises(Tiercel::ConfigurationError) { build(File.join(way, "cache.sqlite3")) }
      end
      File.lchown(0, 0, place)
      build(File.join(place, "cache.sqlite3"))
    end
  end

  def test_a_relative_path_stays_where_it_was
    backend = Dir.chdir(dir) { build("cache.sqlite3") }
    assert_equal true, backend.set("key", "value")
    assert_path_exists File.join(dir, "cache.sqlite3")
  end

  def test_a_symbolic_link_to_the_file
    Dir.mkdir(File.join(dir, "disk"))
    target = File.join(dir, "disk", "cache.sqlite3")
    link = File.join(dir, "cache.sqlite3")
    File.symlink("disk/cache.sqlite3", link)
    build(link).tap { |backend| backend.set("key", "value") }.close
    File.binwrite(target, "no database" * 1_000)
    backend = build(link)
    assert_raises(Tiercel::Refused) { backend.set("key", "value") }
    assert_equal true, backend.set("key", "value")
    assert File.symlink?(link)
    assert_equal 1, Dir["#{target}.damaged"].size
    assert_path_exists "#{target}-wal"
  end

  # The report must not suggest to delete the cache.
  def test_a_cache_that_cannot_be_examined_now_is_no_other_programs_file
    build.tap { |backend| backend.set("key", "value") }.close
    backend = SQLite3::Database.stub(:new, ->(*, **) { raise SQLite3::CantOpenException, "no descriptors" }) do
      build.tap do |opened|
        error = assert_raises(Tiercel::Unavailable) { opened.get("key") }
        assert_match(/CantOpenException: no descriptors/, error.message)
      end
    end
    assert_equal "value".b, backend.get("key")
  end

  private

  def build(path = @path, timeout: 20)
    Tiercel::Backends::SQLite.new(path, timeout:).tap { |backend| @open << backend }
  end

  def set_aside = Dir["#{@path}.damaged"]

  def in_child(&block) = fork_and_wait(1) { block.call }.first

  def make_database(mode, close: true)
    database = SQLite3::Database.new(@path)
    database.execute("PRAGMA journal_mode = #{mode}")
    database.execute("CREATE TABLE users (name)")
    database.execute("INSERT INTO users VALUES ('me')")
    close ? database.close : database
  end

  # Names, content and modification times of all files.
  def contents
    Dir["#{dir}/**/*"].sort.to_h do |path|
      [path, [File.mtime(path), (File.binread(path) if File.file?(path))]]
    end
  end

  def assert_untouched(message)
    before = contents
    error = assert_raises(Tiercel::ConfigurationError) { Tiercel.new("sqlite:#{@path}") }
    assert_match(message, error.message)
    assert_match(/\Asqlite: #{Regexp.escape(@path)}/, error.message)
    assert_equal before, contents
  end
end
