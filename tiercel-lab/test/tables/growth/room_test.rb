# frozen_string_literal: true

require_relative "../../support/lab_case"

class GrowthRoomTest < LabCase
  Growth = Lab::Tables::Growth

  def room(kilobytes)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "meminfo")
      File.write(path, "MemTotal: 99999999 kB\nMemAvailable: #{kilobytes} kB\n")
      yield Growth::Room.new({ "disk" => folder, "tmpfs" => folder }, meminfo: path)
    end
  end

  def test_what_does_not_fit_says_why
    room(1_024) do |room|
      assert_nil room.refusal(:memory, 512 * 1_024)
      assert_equal "needs 1.00 MB of memory, of which 1.00 MB are free and 60 % may be taken",
                   room.refusal(:memory, 1_024 * 1_024)
      assert_match(/needs 1\.00 MB of memory and of the tmpfs/, room.refusal(:tmpfs, 1_024 * 1_024))
      assert_nil room.refusal(:disk, 1), "a disk has nothing to do with memory"
      assert_match(/of disk/, room.refusal(:disk, 1 << 60))
    end
  end

  def test_where_nothing_is_known_nothing_is_refused
    room = Growth::Room.new({ "disk" => "/" }, meminfo: "/no/such/file")
    assert_nil room.refusal(:memory, 1 << 60)
  end

  # Ten million entries of a MemoryStore in each of eight processes, and a segment that reserves its room.
  def test_what_a_point_needs
    design = Growth::Design::FULL
    point = Growth::Point.new("entries", 10_000_000, 100, 8)
    own, shared = %w[memory_store tiercel:shared:].map { |name| Growth::Design::STORES.fetch(name) }
    assert_equal 8 * 10_000_000 * 800, design.needed(own, point)
    assert_equal design.capacity(shared, point), design.needed(shared, point)
    assert_operator design.capacity(shared, point), :>, 10_000_000 * 512
  end

  def test_beyond_a_million_entries_one_round_is_made
    design = Growth::Design::FULL
    assert_includes design.configurations(0).map { |_store, point| point.entries }, 10_000_000
    refute_includes design.configurations(1).map { |_store, point| point.entries }, 10_000_000
  end
end
