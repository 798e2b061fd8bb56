# frozen_string_literal: true

module Tiercel::Lab
  module Contestants
    # Solid Cache in a small Rails application, on SQLite (`solid_cache_store`) or on a PostgreSQL that the lab starts
    # (`solid_cache_store:postgresql`). The pragmas of Rails' SQLite adapter are those of the lab's "equal"
    # contestants (WAL, synchronous NORMAL, 128 MB of mmap), so `solid_cache_store:equal` is the same. All arms of a
    # process share one table, so each arm deletes its own names.
    class SolidCacheStore < Contestant
      facts places: ["", "equal", "postgresql"], foreign?: true

      def medium = postgresql? ? :loopback : :disk

      # In the order in which the lab requires them: Solid Cache's engine needs Rails.
      def gems = ["rails", "solid_cache", postgresql? ? "pg" : "sqlite3"]

      def servers = postgresql? ? %i[postgresql] : []

      def bundle = postgresql? ? "solid_cache_postgresql" : "solid_cache_sqlite"

      def build(context)
        boot(context) unless defined?(::SolidCache::Entry)
        ActiveSupport::Cache::SolidCacheStore.new(
          max_size: context.capacity_bytes, error_handler: ->(exception:, **) { raise exception }, **options
        )
      end

      def configuration = configuration_line(":solid_cache_store")

      private

      def postgresql? = place == "postgresql"

      def boot(context)
        root = context.directory("disk")
        ENV["RAILS_ENV"] = "production"
        write_configuration(root, database(context, root))
        require "rails"
        require "active_record/railtie"
        require "solid_cache"
        application(root).initialize!
        require "active_support/cache/solid_cache_store"
        create_table
      end

      def write_configuration(root, database)
        FileUtils.mkdir_p(File.join(root, "config"))
        # JSON is also YAML.
        File.write(File.join(root, "config", "database.yml"), JSON.generate("production" => database))
      end

      def database(context, root)
        return { "url" => context.server(:postgresql).fetch("url") } if postgresql?
        { "adapter" => "sqlite3", "database" => File.join(root, "solid_cache.sqlite3"), "timeout" => 1_000 }
      end

      def application(root)
        Class.new(::Rails::Application) do
          def self.name = "SolidCacheApplication"
          config.root = root
          config.load_defaults ::Rails::VERSION::STRING.to_f
          config.eager_load = false
          config.logger = ::Logger.new(IO::NULL)
          config.secret_key_base = "0" * 64
        end
      end

      def create_table
        templates = File.join(Gem.loaded_specs.fetch("solid_cache").full_gem_path,
                              "lib/generators/solid_cache/install/templates")
        ActiveRecord::Migration.suppress_messages { load File.join(templates, "db/cache_schema.rb") }
      end
    end

    register "solid_cache_store", SolidCacheStore
  end
end
