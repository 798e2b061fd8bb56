# frozen_string_literal: true

# Loads the two C extensions: `codec` (frames and plain data) and `segment` (shared memory). The gem's installation
# builds both, or fails.
#
# @private
module Tiercel::Extensions
  SCRIPT = ::File.expand_path("../../ext/compile.rb", __dir__)
  # A precompiled gem has one folder of libraries for each minor version of Ruby.
  LINE = RbConfig::CONFIG["ruby_version"][/\A\d+\.\d+/]
  FOLDER = ::File.directory?(::File.join(__dir__, LINE)) ? "tiercel/#{LINE}" : "tiercel"
  private_constant :SCRIPT, :LINE, :FOLDER

  @loaded = {}

  class << self
    # @param name [String] "codec" or "segment"
    # @return [void]
    # @raise [MissingDependency] if it cannot be loaded
    def load(name)
      return if @loaded[name] # `require` would look for it in every gem's folder again
      require "#{FOLDER}/#{name}_ext"
      @loaded[name] = true
    rescue LoadError => error
      raise Tiercel::MissingDependency,
        "Tiercel's C extension #{name} cannot be loaded: #{error.message}. #{remedy(error)}"
    end

    private

    # Bundler compiles nothing for a gem with `path:`.
    def remedy(error)
      return "A later release of Tiercel may know it" if error.message.include?("not known here")
      return "Reinstall the gem with: gem install --platform ruby tiercel" unless ::File.exist?(SCRIPT)
      "To compile it for this Ruby, type: ruby #{SCRIPT}"
    end
  end
end
