# frozen_string_literal: true
# suites: store*

require "test_helper"

# A read of several names with a duplicate, while another process overwrites that name.
class SameNameTwiceTest < Tiercel::TestCase
  SECONDS = 0.5
  ROW = { a: 1, b: "two" }.freeze # is decoded in Ruby
  DIGITS = "123" # decodes to the number 123 if it is read as a frame

  def test_each_value_is_one_that_was_written
    [{}, { memo: "1MB" }, { frozen: true }, { namespace: "app" }].each { |options| check(options) }
  end

  def test_tiers_ask_the_last_one_for_a_name_once
    with_tmpdir do |dir|
      store = Tiercel.new("memory:", "sqlite:#{dir}/cache.sqlite3")
      store.write("name", ROW)
      asked = []
      store.backend.last.define_singleton_method(:get_multi) { |keys| super(keys.each { |key| asked << key }) }
      assert_equal({ "name" => ROW }, store.read_multi("name", "absent", "name", "absent"))
      assert_equal({ "name" => ROW }, store.read_multi("name", "name"))
      assert_equal asked.uniq, asked
    ensure
      store&.close
    end
  end

  private

  def check(options)
    with_tmpdir do |dir|
      path = "shared:#{dir}/segment"
      writer = beside { overwrite(Tiercel.new(path, size: "4MB", **options)) }
      store = Tiercel.new(path, size: "4MB", **options)
      wait_until("nothing is written") { store.exist?("name") }
      assert_empty wrong(store), options
    ensure
      stop(writer)
    end
  end

  def wrong(store)
    ends_at = Tiercel::Clock.monotonic + SECONDS
    while Tiercel::Clock.monotonic < ends_at
      values = store.read_multi("name", "name").values
      return values unless (values - [ROW, DIGITS]).empty?
    end
    []
  end

  def overwrite(store)
    loop do
      store.write("name", ROW)
      store.write("name", DIGITS)
    end
  end

  def beside(&block) = fork { exit!(block.call ? 0 : 1) }

  def stop(pid)
    return unless pid
    Process.kill(:KILL, pid)
    Process.wait(pid)
  end
end
