# frozen_string_literal: true

module Tiercel::Lab
  # Checks folders that the user names. The lab does not create them: a missing folder may be an unmounted disk or a
  # typing error, and a new one would be on another medium.
  module Folder
    # @param said [String] the option with its value, for the message
    # @param path [String]
    # @return [String] the folder's full path
    # @raise [UsageError] if it does not exist, or is not writable
    def self.check(said, path)
      full = File.expand_path(path)
      raise UsageError, "#{said}: #{full} is not a folder" if File.exist?(full) && !File.directory?(full)
      unless File.directory?(full)
        raise UsageError, "#{said}: the folder #{full} does not exist; create it (mkdir -p), or name another"
      end
      raise UsageError, "#{said}: the folder #{full} is not writable" unless File.writable?(full)
      full
    end

    # @param said [String]
    # @param file [String] the file to write
    # @return [String] its folder's full path
    # @raise [UsageError]
    def self.check_of(said, file)
      raise UsageError, "#{said}: a folder; name a file" if File.directory?(file)
      check(said, File.dirname(File.expand_path(file)))
    end

    # @param file [String]
    # @param error [SystemCallError] raised while the file was written
    # @return [String] what happened
    def self.not_written(file, error) = "#{file} was not written: #{reason(error)}"

    # @param error [SystemCallError]
    # @return [String] its message, without the name of Ruby's function
    def self.reason(error) = error.message[/\A[^@]+/].strip

    # @param said [String]
    # @param scheme [String] scheme of a Tiercel URL
    # @param place [String] the rest of the URL; "" is a folder or server of the lab
    # @raise [UsageError]
    def self.check_place(said, scheme, place)
      return if place.empty?
      check(said, place) if scheme == "file"
      check_of(said, place) if scheme == "sqlite" || (scheme == "shared" && place.start_with?("/"))
    end
  end

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
