# frozen_string_literal: true

module Tiercel
  class Segment
    # The output of `rake tiercel:segments`, and the segments that the other tasks concern.
    class Report
      # @param directory [String] the directory to search
      def initialize(directory = Place.directory)
        @directory = directory
      end

      # @return [String, nil] the segment of `Rails.cache` or of its near tier
      def own
        cache = Rails.cache if defined?(Rails) && Rails.respond_to?(:cache)
        return unless cache.respond_to?(:backend)
        cache.backend.tiers.filter_map { |tier| tier.segment.path if tier.respond_to?(:segment) }.first
      end

      # Removes segments of this application that no process uses.
      #
      # @return [Array<String>] paths of the removed segments
      def prune
        return [] unless defined?(Rails) && Rails.respond_to?(:application) && Rails.application
        place = Place.new("")
        (paths - [own]).select do |path|
          place.of_application?(path) && Segment.remove(path, only_unused: true)
        rescue Unavailable, SystemCallError
          false # another process is removing it
        end
      end

      # @return [Array<String>] files whose names match those of `shared:NAME`
      def paths
        Dir.glob(::File.join(@directory, "tiercel-*.v*")).grep(/\.v\d+\z/).sort
      end

      # @return [String] one line for each segment
      def list
        return "No segments in #{@directory}.\n" if paths.empty?
        rows = [%w[segment size fill entries hits processes]] + paths.map { |path| row(path) }
        widths = rows.transpose.map { |column| column.map(&:length).max }
        rows.map { |row| "#{row.zip(widths).map { |cell, width| cell.ljust(width) }.join("  ").rstrip}\n" }.join
      end

      private

      def row(path)
        segment = Segment.open_existing(path)
        stats = segment.stats
        [path, Sizes.human(stats[:size_bytes]), percent(stats[:bytes], stats[:log_bytes]), stats[:entries].to_s,
         percent(stats[:hits], stats[:hits] + stats[:misses]), (segment.pids - [Process.pid]).size.to_s]
      rescue Unavailable => error
        [path, Sizes.human(::File.size?(path) || 0), "-", "-", "-",
         error.message.delete_prefix("#{path}: ").delete_prefix("#{path} ")]
      ensure
        segment&.close
      end

      def percent(part, whole) = whole.zero? ? "-" : format("%.1f%%", 100.0 * part / whole)
    end
  end
end
