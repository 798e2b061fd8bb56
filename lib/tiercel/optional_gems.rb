# frozen_string_literal: true

# The gems that Tiercel supports but does not depend on, and their minimum versions. A gem below its minimum version
# raises an error with the line for the Gemfile.
module Tiercel::OptionalGems
  OLDEST = {
    "brotli" => "0.9.0",
    "msgpack" => "1.7.0",
    "snappy" => "0.4.0",
    "sqlite3" => "2.1.0",
    "zstd-ruby" => "2.0.0",
  }.freeze

  class << self
    # @param name [String] the gem's name
    # @return [String] its version range, as in a Gemfile
    def requirement(name) = ">= #{OLDEST.fetch(name).delete_suffix(".0")}"

    # @param name [String] the gem's name
    # @return [String] the line for the Gemfile
    def line(name) = %(gem "#{name}", "#{requirement(name)}")

    # Call this after the gem has been loaded.
    #
    # @param name [String] the gem's name
    # @return [void]
    # @raise [MissingDependency] if its version is too old
    def check(name)
      version = Gem.loaded_specs[name]&.version # nil if RubyGems does not know it
      return if version.nil? || version >= Gem::Version.new(OLDEST.fetch(name))
      raise Tiercel::MissingDependency,
        "#{name} #{version} is too old: Tiercel needs #{OLDEST.fetch(name)} or later. " \
        "In the Gemfile: #{line(name)}, then: bundle update #{name}"
    end
  end
end
