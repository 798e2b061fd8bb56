# frozen_string_literal: true

require_relative "../clock"
require_relative "place"

module Tiercel
  class Segment
    # Segments of the same application that it does not use now: under another secret (an asset build with one of its
    # own, a secret that was rotated, another checkout), or of a configuration that somebody tried. Their memory is
    # given back once no process uses them any more.
    #
    # Writes through a map leave no time in a file, so the time of the lock file
    # says when a process of this application last started on a segment, or saw
    # that it was used.
    class Orphans
      UNUSED_SECONDS = 30 * 86_400

      # @param place [Place] whose own segment stays
      # @param paths [Array<String>] of the segments in question
      def initialize(place, paths = place.siblings)
        @place = place
        @paths = paths
      end

      # Those that no process is registered on.
      #
      # @param unused_seconds [Numeric] for how long, at least
      # @return [Array<String>] paths of what was removed
      def remove(unused_seconds: UNUSED_SECONDS)
        @paths.select do |path|
          old = Clock.now - last_used_at(path) >= unused_seconds
          removed = old && Segment.remove(path, only_unused: true)
          mark(path) if old && !removed
          removed
        rescue Unavailable, SystemCallError
          false # another user's, or one that others remove just now
        end
      end

      # Says that a segment is used now.
      #
      # @param path [String] of the segment
      # @return [void]
      def mark(path)
        now = Time.at(Clock.now)
        ::File.utime(now, now, "#{path}.lock")
      rescue SystemCallError
        nil # it was removed meanwhile
      end

      private

      # @return [Float] epoch seconds
      def last_used_at(path)
        [path, "#{path}.lock"].filter_map { |file| ::File.mtime(file).to_f if ::File.exist?(file) }.max || Clock.now
      end
    end
  end
end
