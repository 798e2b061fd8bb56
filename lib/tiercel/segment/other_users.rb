# frozen_string_literal: true

require_relative "../ownership"
require_relative "notice"
require_relative "place"

module Tiercel
  class Segment
    # Segments of the same application (or the same name) that other users have. A console that runs as root has a cache
    # of its own beside the site's: its `clear` leaves the site's as it is.
    class OtherUsers
      @warned = {}

      class << self
        # @return [Hash{String => true}] paths that this process has warned of
        attr_reader :warned
      end

      # @param path [String] of a segment, as `shared:NAME` names its file
      # @return [OtherUsers]
      def self.beside(path) = new(nil, paths: [path])

      # @param place [Place]
      def initialize(place, paths: place.named? ? place.paths : [])
        @paths = paths
      end

      # @return [Array<String>] paths
      def segments
        @paths.flat_map do |path|
          beginning, ending = around_user(path)
          next [] unless beginning
          Dir.glob("#{escaped(beginning)}*#{escaped(ending)}").select { |other| same_name?(other, beginning, ending) }
        end
      end

      # Says it once for each of them.
      #
      # @return [void]
      def warn
        segments.each do |path|
          next if OtherUsers.warned[path]
          OtherUsers.warned[path] = true
          Notice.warn("#{path} is the segment of the same name of #{owner(path)}. This process runs as " \
                      "#{Ownership.user(Process.euid)} and has a cache of its own: a clear or a delete " \
                      "here does not reach the other one. Run consoles and tasks as the user of the site")
        rescue SystemCallError
          next # it was removed just now
        end
      end

      # @param path [String] of a segment
      # @return [String] name of its user
      def owner(path) = Ownership.user(::File.stat(path).uid)

      private

      # The user's number is between the name (and the environment) and the secret's digest.
      def around_user(path)
        match = path.match(/\A(.*-)#{Process.euid}((?:-\h{8}|-unsigned)?\.v\d+)\z/)
        match&.captures
      end

      def same_name?(path, beginning, ending)
        user = path.delete_prefix(beginning).delete_suffix(ending)
        user.match?(/\A\d+\z/) && user.to_i != Process.euid && ::File.stat(path).uid == user.to_i
      rescue SystemCallError
        false
      end

      def escaped(path) = path.gsub(/[\\*?\[\]{}]/) { |char| "\\#{char}" }
    end
  end
end
