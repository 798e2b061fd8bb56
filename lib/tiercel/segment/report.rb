# frozen_string_literal: true

module Tiercel
  class Segment
    # The output of `rake tiercel:segments` and of the tasks that remove segments.
    class Report
      # @param directory [String] the directory to search
      # @param place [Place, nil] the application; defaults to the current Rails application
      def initialize(directory = Place.directory, place: Report.place)
        @directory = directory
        @place = place
      end

      # @return [Place, nil]
      def self.place
        Place.new("") if defined?(Rails) && Rails.respond_to?(:application) && Rails.application
      end

      # @return [Array<String>] segments of `Rails.cache`, including its tiers; without a booted application or such a
      #   segment, those named after the current application
      def own
        used = of_cache
        return used if used.any?
        @place ? paths.select { |path| @place.own?(path) } : []
      end

      # Removes segments of this application that no process uses.
      #
      # @return [Array<String>] paths of the removed segments
      def prune
        return [] unless @place
        (paths - (booted? ? of_cache : [@place.path])).select do |path|
          @place.of_application?(path) && Segment.remove(path, only_unused: true)
        rescue Unavailable, SystemCallError
          false # another process is removing it
        end
      end

      # Removes a segment.
      #
      # @param path [String]
      # @return [String] a description of the result
      # @raise [Unavailable] if the segment does not exist or belongs to another user
      def remove(path)
        raise Unavailable, "#{path} does not exist: rake tiercel:segments lists all segments" unless ::File.exist?(path)
        Segment.remove(path)
        "Removed #{path}. A process that uses it recreates it, empty, with its next call: to free the memory, stop it."
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

      def booted? = defined?(Rails) && Rails.respond_to?(:cache) && !Rails.cache.nil?

      def of_cache
        return [] unless booted? && Rails.cache.respond_to?(:backend)
        Rails.cache.backend.tiers.filter_map { |tier| tier.segment.path if tier.respond_to?(:segment) }
      end

      def with(path)
        segment = Segment.open_existing(path)
        yield segment
      ensure
        segment&.close
      end

      def row(path)
        with(path) do |segment|
          stats = segment.stats
          [path, Sizes.human(stats[:size_bytes]), percent(stats[:bytes], stats[:log_bytes]), stats[:entries].to_s,
           percent(stats[:hits], stats[:hits] + stats[:misses]), (segment.pids - [Process.pid]).size.to_s]
        end
      rescue Unavailable => error
        [path, Sizes.human(::File.size?(path) || 0), "-", "-", "-",
         error.message.delete_prefix("#{path}: ").delete_prefix("#{path} ")]
      end

      def percent(part, whole) = whole.zero? ? "-" : format("%.1f%%", 100.0 * part / whole)
    end
  end
end
