# frozen_string_literal: true

module Tiercel
  class Segment
    # Segments with the same application or name that belong to other users. A console that runs as root, for example,
    # has its own cache, and its `clear` does not affect the site's cache.
    class OtherUsers
      @warned = {}

      class << self
        # @return [Hash{String => true}] paths for which this process has printed the warning
        attr_reader :warned
      end

      # @param path [String] the path of a segment, as `shared:NAME` derives it
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

      # Warns once about each of them.
      #
      # @return [void]
      def warn
        segments.each do |path|
          next if OtherUsers.warned[path]
          OtherUsers.warned[path] = true
          Notice.warn("#{path} is a segment of the same name that belongs to #{owner(path)}. This process runs as " \
                      "#{Ownership.user(Process.euid)} and uses a separate cache: a clear or delete " \
                      "here does not affect the other one. Run consoles and tasks as the site's user")
        rescue SystemCallError
          next # it was just removed
        end
      end

      # @param path [String] the path of a segment
      # @return [String] the name of its owner
      def owner(path) = Ownership.user(::File.stat(path).uid)

      private

      # The user's id stands between the name (and environment) and the digest of the secret.
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
