# frozen_string_literal: true

# Predicts which reads of a trace hit in a segment: S3-FIFO (Yang et al., SOSP 2023) as `ext/tiercel/segment/log.c` does
# it, with sizes instead of values. tiercel-insight runs it with a sample of the keys.
#
#   model = Tiercel::Segment::EvictionModel.new(64 << 20)
#   model.read("a", 1_000)   # => false: a miss, which stores the entry
#   model.read("a", 1_000)   # => true
#
# A small log takes newcomers, a main log entries that were hit, and ghosts remember the keys that left the small log
# without a hit. Newcomers go into the main log if they are ghosts, if only it has room, or if they fill more than a
# quarter of the small log. A deleted or expired entry keeps its room until the log's tail reaches it.
class Tiercel::Segment::EvictionModel
  MOST_HITS = 3
  SMALL = 0.1
  # The bytes up to which an overwrite needs no other room.
  IN_PLACE = 4_096
  Entry = Struct.new(:key, :size, :hits, :expires_at, :log)
  Log = Struct.new(:entries, :room)
  private_constant :MOST_HITS, :SMALL, :IN_PLACE, :Entry, :Log

  # @return [Boolean, nil] whether an entry has left a log
  attr_reader :full

  # @param capacity [Numeric] bytes of both logs, as in the segment's stats
  # @param share [Float] the model's part of the segment that it stands for
  def initialize(capacity, share = 1.0)
    @capacity = capacity
    @small, @main = Log.new([], capacity * SMALL), Log.new([], capacity * (1 - SMALL))
    @large = [capacity * SMALL / 4 / share, capacity * SMALL].min
    @live, @ghosts, @added = {}, {}, 0
  end

  # @param key [Object]
  # @param size [Numeric] bytes of the entry
  # @param now [Numeric] a time in any unit
  # @param expires_at [Numeric] of the entry that a miss stores
  # @return [Boolean] whether the read hits
  def read(key, size, now = 0, expires_at = Float::INFINITY)
    @now = now
    old = @live[key]
    if old && old.expires_at > now
      old.hits += 1 if old.hits < MOST_HITS
      return true
    end
    store(key, size, expires_at, old, old ? old.hits : 0)
    false
  end

  # A write that no miss has caused: as `set`, a hit of the entry that it replaces.
  #
  # @return [void]
  def write(key, size, now = 0, expires_at = Float::INFINITY)
    @now = now
    old = @live[key]
    hits = old ? [old.hits + 1, MOST_HITS].min : 0
    return store(key, size, expires_at, old, hits) unless old && size == old.size && size <= IN_PLACE
    old.hits, old.expires_at = hits, expires_at
  end

  # @return [void]
  def delete(key)
    entry = @live.delete(key)
    entry.key = nil if entry
  end

  # @return [Numeric] bytes in the logs
  def used = @capacity - @small.room - @main.room

  private

  def store(key, size, expires_at, old, hits)
    log = log_for(key, size, old&.log)
    old.key = nil if old
    append(log, @live[key] = Entry.new(key, size, hits, expires_at))
  end

  def log_for(key, size, log)
    return @main if log.equal?(@main) || (log.nil? && ghost?(key)) || size > @large
    size > @small.room && size <= @main.room ? @main : @small
  end

  def append(log, entry)
    pass_tail(log) while entry.size > log.room && !log.entries.empty?
    log.entries << entry
    log.room -= entry.size
    entry.log = log
  end

  def pass_tail(log)
    @full = true
    entry = log.entries.shift
    log.room += entry.size
    return if entry.key.nil?
    if entry.hits.positive? && entry.expires_at > @now
      entry.hits = log.equal?(@small) ? 0 : entry.hits - 1
      return append(@main, entry)
    end
    @live.delete(entry.key)
    add_ghost(entry.key) if log.equal?(@small) && entry.expires_at > @now
  end

  def add_ghost(key)
    @ghosts.delete(key)
    @ghosts[key] = @added += 1
    @ghosts.shift if @added - @ghosts.first.last > 2 * oldest_ghost
  end

  # A ghost is forgotten once as many newer ones were added as the main log has entries.
  def oldest_ghost = [@main.entries.size, 16].max

  def ghost?(key)
    added = @ghosts.delete(key)
    added && @added - added <= oldest_ghost
  end
end
