# frozen_string_literal: true

require "etc"
require_relative "errors"

module Tiercel
  module Lab
    # The lab's folders in the user's home (XDG Base Directory Specification).
    module UserFolders
      # @param names [Array<String>] below the lab's folder
      # @return [String] a path in the user's cache folder
      def self.cache(*names) = within("XDG_CACHE_HOME", ".cache", names)

      # @param names [Array<String>] below the lab's folder
      # @return [String] a path in the user's data folder
      def self.data(*names) = within("XDG_DATA_HOME", ".local/share", names)

      def self.within(variable, usual, names)
        File.join(absolute(variable) || File.join(home, usual), "tiercel-lab", *names)
      end

      # @raise [UsageError] for a user without a home, as in some containers
      def self.home
        absolute("HOME") || Etc.getpwuid&.dir or raise UsageError, "HOME is not set: expected the path of a folder"
      end

      # The specification ignores relative paths.
      #
      # @return [String, nil] the variable's path; nil if the variable is missing, empty or a relative path
      def self.absolute(variable) = ENV.fetch(variable, nil).then { |path| path if path && File.absolute_path?(path) }

      private_class_method :within, :home, :absolute
    end
  end
end
