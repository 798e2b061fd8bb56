# frozen_string_literal: true

module Tiercel
  module Generators
    # The production settings of Solid Cache: config/cache.yml after ERB, and its databases.
    #
    # @private
    class SolidCacheSettings
      # Solid Cache's default for `max_age`.
      DEFAULT_MAX_AGE_SECONDS = 14 * 86_400
      FILES = %w[storage/cache.sqlite3 storage/tiercel.sqlite3].freeze
      private_constant :FILES

      # @return [Hash{Symbol => Object}] the store's options
      attr_reader :store_options

      # @param facts [Hash{String => Object}] from {DummyBoot#solid_cache}: "store_options", "databases" (Array of
      #   Hashes with "name", "adapter" and "database"), "encrypt"
      def initialize(facts)
        @store_options = facts.fetch("store_options", {}).transform_keys(&:to_sym)
        @databases = facts.fetch("databases", [])
        @encrypt = facts["encrypt"]
      end

      # @return [Boolean] whether the cache is on a disk of this machine
      def local? = @databases.any? && @databases.all? { |database| database["adapter"].to_s == "sqlite3" }

      # @return [Boolean]
      def encrypted? = @encrypt ? true : false

      # @return [Boolean] whether it uses several databases
      def sharded? = @databases.size > 1

      # @return [String] for example "PostgreSQL (database cache)"
      def server
        database = @databases.find { |one| one["adapter"].to_s != "sqlite3" }
        return "a database that config/database.yml does not name" unless database
        names = { "postgresql" => "PostgreSQL", "postgis" => "PostgreSQL", "mysql2" => "MySQL", "trilogy" => "MySQL" }
        "#{names.fetch(database["adapter"].to_s, database["adapter"])} (#{database["name"]} in config/database.yml)"
      end

      # @return [String] a path that differs from all its databases
      def file
        taken = @databases.map { |database| database["database"].to_s }
        FILES.find { |path| taken.none? { |other| other.end_with?(path) } } || FILES.last
      end

      # @return [Boolean] whether no age is configured, so that Solid Cache uses its default
      def default_age? = (store_options.keys & %i[max_age expires_in]).empty?

      # @return [Hash{Symbol => String}] Ruby source of the options' values, under Solid Cache's names
      def options
        source = store_options.transform_values(&:inspect)
        source[:max_age] = duration(store_options.fetch(:max_age, DEFAULT_MAX_AGE_SECONDS)) unless age_elsewhere?
        source[:max_size] = bytes(store_options[:max_size]).inspect if store_options[:max_size]
        source.reject { |_, text| text == "nil" }
      end

      private

      def age_elsewhere? = !store_options.key?(:max_age) && store_options.key?(:expires_in)

      # Avoids `days`, which is not loaded in every file of config/environments.
      def duration(seconds)
        seconds.is_a?(Integer) && (seconds % 86_400).zero? ? "#{seconds / 86_400} * 86_400" : seconds.inspect
      end

      def bytes(size)
        return size unless size.is_a?(Integer)
        unit = { "GB" => 1024**3, "MB" => 1024**2 }.find { |_, factor| (size % factor).zero? } or return size
        "#{size / unit.last}#{unit.first}"
      end
    end
  end
end
