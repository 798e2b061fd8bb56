# frozen_string_literal: true

require "tiercel/tiers"
require "tiercel/segment"

# Journals beside a file that plays the role of a segment.
module Journals
  Journal = Tiercel::Tiers::Journal
  Ring = Journal::Ring
  LAST = "redis://127.0.0.1/0"

  def setup
    @dir = Dir.mktmpdir("tiercel-journal-")
    @segment = "#{@dir}/segment"
    File.write(@segment, "", perm: 0o640)
    @path, @late = %w[keys late].map { |kind| "#{@segment}.journal-#{Zlib.crc32(LAST).to_s(36)}.#{kind}" }
  end

  def teardown = FileUtils.rm_rf(@dir)

  def in_a_file(last = LAST) = Journal.new(@segment, last)
  def of_a_process = Journal.new(nil, LAST)
  def both = [in_a_file, of_a_process]

  # @return [Journal::Page] all keys that the journal yields now
  def replayed(journal)
    all = Journal::Page.new([], [], false)
    note = lambda do |page|
      all.frames.concat(page.frames)
      all.generations.concat(page.generations)
      all.damaged ||= page.damaged
    end
    nil while journal.replay(&note)&.zero?
    all
  end

  def keys(count) = Array.new(count) { |number| "key #{number}" }

  # Pretends that this many seconds have passed.
  def later(seconds, &)
    now = Tiercel::Clock.monotonic + seconds
    Tiercel::Clock.stub(:monotonic, now, &)
  end

  def tail = File.binread(@path, 8, 40).unpack1("Q<")
end
