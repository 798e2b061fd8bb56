# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel"

class MemcachedKeySpoolTest < Tiercel::TestCase
  Spool = Tiercel::Backends::Memcached::KeyDump::Spool
  FEW = (0...1_000).map { |index| "key #{index}" }.freeze
  MANY = (0...30_000).map { |index| "#{index} #{"k" * 200}" }.freeze

  def test_keys_come_back_in_their_order
    [[], FEW, MANY].each do |keys|
      with_spool do |spool|
        keys.each { |key| spool.add(key) }

        assert_equal keys, Array.new(2) { spool.enum_for(:each).to_a }.uniq.first
      end
    end
  end

  def test_few_keys_need_no_file
    with_spool(folder: "/proc/nowhere") do |spool|
      FEW.each { |key| spool.add(key) }

      assert_equal FEW, spool.enum_for(:each).to_a
    end
  end

  def test_many_keys_without_a_place_for_a_file_are_a_backends_error
    with_spool(folder: "/proc/nowhere") do |spool|
      error = assert_raises(Tiercel::Refused) { MANY.each { |key| spool.add(key) } }
      assert_match(/keys and more need a temporary file.*TMPDIR.*memcached/, error.message)
    end
  end

  def test_nothing_stays_in_the_folder
    with_tmpdir do |dir|
      with_spool(folder: dir) do |spool|
        MANY.each { |key| spool.add(key) }

        assert_empty Dir.children(dir)
        assert_equal MANY.size, spool.enum_for(:each).count
      end
    end
  end

  private

  def with_spool(**)
    spool = Spool.new("memcached://a", **)
    yield spool
  ensure
    spool&.close
  end
end
