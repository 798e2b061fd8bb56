# frozen_string_literal: true

require_relative "errors"

module Tiercel
  module Lab
    # Folders that the user names: the lab makes none of them, because one that is missing (a mount, a word mistyped)
    # would be made on another medium.
    module Folder
      # @param said [String] what the user said, for the message
      # @param path [String]
      # @return [String] the folder's full path
      # @raise [UsageError] if it is not there, or nothing can be written into it
      def self.check(said, path)
        full = File.expand_path(path)
        unless File.directory?(full)
          raise UsageError, "#{said}: there is no folder #{full}; make it first (mkdir -p), or name another"
        end
        raise UsageError, "#{said}: nothing can be written into #{full}" unless File.writable?(full)
        full
      end

      # @param said [String]
      # @param file [String] that will be written
      # @return [String] its folder's full path
      # @raise [UsageError]
      def self.check_of(said, file) = check(said, File.dirname(File.expand_path(file)))

      # @param said [String]
      # @param scheme [String] of a backend of Tiercel's
      # @param place [String] what follows it; "" is a place of the lab's own
      # @raise [UsageError]
      def self.check_place(said, scheme, place)
        return if place.empty?
        check(said, place) if scheme == "file"
        check_of(said, place) if scheme == "sqlite" || (scheme == "shared" && place.start_with?("/"))
      end
    end
  end
end
