# frozen_string_literal: true

require_relative "errors"

module Tiercel
  # The gems that Tiercel supports but does not depend on: their minimum version and the newest tested version.
  #
  # A gem below its minimum version raises an error with the line for the Gemfile. Tiercel changes private methods of
  # some gems, but only up to the newest tested version. With a newer version it warns once and leaves the methods
  # unchanged.
  module OptionalGems
    OLDEST = {
      "brotli" => "0.9.0",
      "connection_pool" => "2.4.1",
      "lz4_flex" => "1.0.0",
      "msgpack" => "1.7.0",
      "redis-client" => "0.28.0",
      "redis-cluster-client" => "0.17.0",
      "snappy" => "0.4.0",
      "sqlite3" => "2.1.0",
      "zstd-ruby" => "2.0.0",
    }.freeze
    # Gems whose methods are changed; later patches of the same minor version are included.
    NEWEST = { "redis-client" => "0.31.0", "redis-cluster-client" => "0.17.0" }.freeze

    @warned = {}

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
        version = version(name)
        return if version.nil? || version >= Gem::Version.new(OLDEST.fetch(name))
        raise MissingDependency, "#{name} #{version} is too old: Tiercel needs #{OLDEST.fetch(name)} or later. " \
                                 "In the Gemfile: #{line(name)}, then: bundle update #{name}"
      end

      # Call this before methods of the gem are changed.
      #
      # @param name [String] the gem's name
      # @param lost [String] the feature that is missing without the changes, for the warning
      # @return [Boolean] whether its version was tested
      def tested?(name, lost)
        version = version(name)
        return true if version.nil? || version < Gem::Version.new(NEWEST.fetch(name)).bump
        @warned[name] ||= warn("Tiercel: #{name} #{version} is newer than the tested version " \
                               "(#{NEWEST.fetch(name)[/\A\d+\.\d+/]}): #{lost}") || true
        false
      end

      private

      # @return [Gem::Version, nil] the loaded version; nil if RubyGems does not know it
      def version(name) = Gem.loaded_specs[name]&.version
    end
  end
end
