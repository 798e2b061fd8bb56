# frozen_string_literal: true

require_relative "errors"

module Tiercel
  # Loads the two C extensions: `codec` (frames and plain data) and `segment` (shared memory). Without them Tiercel
  # runs in Ruby and is slower, and {Backends::SharedMissing} replaces `shared:`.
  #
  # @private
  module Extensions
    # Setting this variable to "1" disables both extensions.
    SWITCH = "TIERCEL_PURE_RUBY"

    ROOT = ::File.expand_path("../..", __dir__)
    # ext/Rakefile writes this file if an extension cannot be built. Its first line is the reason.
    FAILURE = ::File.join(ROOT, "ext/build_failure.txt")
    # This file exists once a process has printed the reason.
    SHOWN = ::File.join(ROOT, "ext/build_failure.shown")
    SCRIPT = ::File.join(ROOT, "ext/compile.rb")
    private_constant :ROOT, :FAILURE, :SHOWN, :SCRIPT

    # A precompiled gem has one folder of libraries for each minor version of Ruby.
    LINE = RbConfig::CONFIG["ruby_version"][/\A\d+\.\d+/]
    FOLDER = ::File.directory?(::File.join(__dir__, LINE)) ? "tiercel/#{LINE}" : "tiercel"
    private_constant :LINE, :FOLDER

    @errors = {}
    @loaded = {}

    class << self
      # @param name [String] "codec" or "segment"
      # @return [Boolean] whether it is loaded
      def load(name)
        return true if @loaded[name] # `require` would look for it in every gem's folder again
        return false if @errors.key?(name)
        raise LoadError, "#{SWITCH} is set" if ENV[SWITCH] == "1"
        require "#{FOLDER}/#{name}_ext"
        @loaded[name] = true
      rescue LoadError => error
        @errors[name] = error
        false
      end

      # @param name [String] "codec" or "segment"
      # @return [void]
      # @raise [MissingDependency] if it cannot be loaded
      def demand(name)
        load(name) or raise MissingDependency, "this needs Tiercel's C extension, which is missing: #{reason}"
      end

      # @return [String] why an extension is missing, and what to do
      def reason
        return "the build failed: #{built_line}. The whole output is in #{FAILURE}. Once a compiler and make are " \
               "installed, type: gem pristine tiercel" if ::File.exist?(FAILURE)
        why = @errors.values.first&.message
        return why if ENV[SWITCH] == "1" || why&.include?("not known here")
        advice = ::File.exist?(SCRIPT) ? "Type: ruby #{SCRIPT}" : "Reinstall the gem with: gem install --platform ruby"
        "#{why}. #{advice}"
      end

      # Prints the reason why an extension is missing: once for each installation, or once for each process if the
      # gem's folder is not writable.
      #
      # @return [void]
      def announce
        return if @errors.empty? || ENV[SWITCH] == "1" || !first_time?
        warn("Tiercel: the C extension (#{@errors.keys.join(", ")}) is missing, so slower Ruby code runs: #{reason}")
      end

      # For callers whose own message already contains the reason.
      #
      # @return [Boolean] whether no process has printed the reason yet
      def first_time?
        return false if @announced
        @announced = true
        ::File.open(SHOWN, ::File::WRONLY | ::File::CREAT | ::File::EXCL, &:close) if ::File.exist?(FAILURE)
        true
      rescue Errno::EEXIST
        false
      rescue SystemCallError
        true
      end

      private

      def built_line = ::File.open(FAILURE, encoding: Encoding::UTF_8, &:gets).to_s.chomp
    end
  end
end
