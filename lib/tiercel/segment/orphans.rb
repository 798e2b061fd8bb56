# frozen_string_literal: true

module Tiercel
  # Segments that this application no longer uses: from another secret (an asset build, a rotated secret, another
  # checkout) or from an earlier configuration. Their memory is freed once no process uses them.
  #
  # Writes through a memory map do not update a file's time. The time of the lock file therefore records when a
  # process of this application last opened the segment or saw it in use.
  class Segment::Orphans
    UNUSED_SECONDS = 30 * 86_400

    # @param place [Place] its own segment stays
    # @param paths [Array<String>] the candidates
    def initialize(place, paths = place.siblings)
      @paths = paths
    end

    # Removes segments on which no process is registered.
    #
    # @param unused_seconds [Numeric] minimum time without use
    # @return [Array<String>] paths of the removed segments
    def remove(unused_seconds: UNUSED_SECONDS)
      @paths.select do |path|
        old = Clock.now - last_used_at(path) >= unused_seconds
        removed = old && Segment.remove(path, only_unused: true)
        mark(path) if old && !removed
        removed
      rescue Unavailable, SystemCallError
        false # another user's segment, or one that another process is removing
      end
    end

    # Records that a segment is in use now.
    #
    # @param path [String] path of the segment
    # @return [void]
    def mark(path)
      now = Time.at(Clock.now)
      ::File.utime(now, now, "#{path}.lock")
    rescue SystemCallError
      nil # it was removed concurrently
    end

    private

    # @return [Float] epoch seconds
    def last_used_at(path)
      [path, "#{path}.lock"].filter_map { |file| ::File.mtime(file).to_f if ::File.exist?(file) }.max || Clock.now
    end
  end
end
