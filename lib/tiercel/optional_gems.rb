# frozen_string_literal: true

require_relative "errors"

module Tiercel
  # The gems that Tiercel works with but does not depend on: from which version
  # on, and up to which they were tested.
  #
  # Below the oldest version there is an error that names the line for the
  # Gemfile. Where Tiercel changes methods of a gem that are not public, it does
  # so up to the newest version that it was tested with; above that it warns
  # once, and does without.
  module OptionalGems
    OLDEST = {
      "brotli" => "0.9.0",
      "connection_pool" => "2.4.1",
      "dalli" => "5.0.0",
      "lz4_flex" => "1.0.0",
      "msgpack" => "1.7.0",
      "redis-client" => "0.28.0",
      "redis-cluster-client" => "0.17.0",
      "snappy" => "0.4.0",
      "sqlite3" => "2.1.0",
      "zstd-ruby" => "2.0.0",
    }.freeze
    # Of gems whose methods are changed; later patches of the same minor version included.
    NEWEST = { "redis-client" => "0.31.0", "redis-cluster-client" => "0.17.0" }.freeze

    @warned = {}

    class << self
      # @param name [String] of the gem
      # @return [String] its version range, as in a Gemfile
      def requirement(name) = ">= #{OLDEST.fetch(name).delete_suffix(".0")}"

      # @param name [String] of the gem
      # @return [String] the line for the Gemfile
      def line(name) = %(gem "#{name}", "#{requirement(name)}")

      # To be asked when the gem has been loaded.
      #
      # @param name [String] of the gem
      # @return [void]
      # @raise [MissingDependency] if its version is too old
      def check(name)
        version = version(name)
        return if version.nil? || version >= Gem::Version.new(OLDEST.fetch(name))
        raise MissingDependency, "#{name} #{version} is too old: Tiercel needs #{OLDEST.fetch(name)} or later. " \
                                 "In the Gemfile: #{line(name)}, then: bundle update #{name}"
      end

      # To be asked before methods of the gem are changed.
      #
      # @param name [String] of the gem
      # @param lost [String] for the warning: what is not so without the changes
      # @return [Boolean] whether its version was tested
      def tested?(name, lost)
        version = version(name)
        return true if version.nil? || version < Gem::Version.new(NEWEST.fetch(name)).bump
        @warned[name] ||= warn("Tiercel: #{name} #{version} is newer than what it was tested with " \
                               "(#{NEWEST.fetch(name)[/\A\d+\.\d+/]}): #{lost}") || true
        false
      end

      private

      # @return [Gem::Version, nil] of what is loaded; nil where RubyGems does not know
      def version(name) = Gem.loaded_specs[name]&.version
    end
  end
end
