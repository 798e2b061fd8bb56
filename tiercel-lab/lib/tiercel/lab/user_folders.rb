# frozen_string_literal: true

require "etc"

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

      # The specification ignores relative paths. A HOME that is empty or relative is treated like a missing one.
      def self.within(variable, usual, names)
        given = ENV.fetch(variable, nil)
        File.join(absolute?(given) ? given : File.join(home, usual), "tiercel-lab", *names)
      end

      def self.home = absolute?(ENV.fetch("HOME", nil)) ? ENV.fetch("HOME") : Etc.getpwuid.dir

      def self.absolute?(path) = File.absolute_path?(path.to_s)

      private_class_method :within, :home, :absolute?
    end
  end
end
