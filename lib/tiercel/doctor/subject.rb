# frozen_string_literal: true

module Tiercel
  class Doctor
    # An examined store and its parts.
    class Subject
      # Rails' own stores by class name, so that none of them has to be loaded.
      KINDS = {
        "ActiveSupport::Cache::MemoryStore" => :memory_store, "ActiveSupport::Cache::FileStore" => :file_store,
        "ActiveSupport::Cache::NullStore" => :null_store, "ActiveSupport::Cache::MemCacheStore" => :mem_cache_store,
        "ActiveSupport::Cache::RedisCacheStore" => :redis_cache_store, "SolidCache::Store" => :solid_cache_store,
        "ActiveSupport::Cache::TiercelStore" => :tiercel_store
      }.freeze

      # @return [String] for example "Rails.cache"
      attr_reader :name
      # @return [ActiveSupport::Cache::Store]
      attr_reader :store

      # @return [Hash{String => ActiveSupport::Cache::Store}] the stores of the Rails application, each one once
      def self.of_application
        stores = { "Rails.cache" => Rails.cache }
        stores["fragment cache"] = ActionController::Base.cache_store if defined?(ActionController::Base)
        stores["session cache"] = session_cache
        stores.compact.uniq { |_, store| store.object_id }.to_h
      end

      # @return [ActiveSupport::Cache::Store, nil] the session store's cache, if it is a separate one
      def self.session_cache
        configured = Rails.application.config
        return unless configured.session_store.to_s == "ActionDispatch::Session::CacheStore"
        configured.session_options[:cache]
      end
      private_class_method :session_cache

      # @param name [String]
      # @param store [ActiveSupport::Cache::Store]
      def initialize(name, store)
        @name = name
        @store = store
      end

      # @return [Symbol, nil] one of {KINDS}; nil for another gem's store
      def kind
        @kind ||= @store.class.ancestors.lazy.filter_map { |ancestor| KINDS[ancestor.name] }.first
      end

      # Subtracts the doctor's own hits from the account of a Tiercel store.
      #
      # @param name [String] the name that was read
      # @param reads [Integer] number of reads
      # @return [void]
      def uncount(name, reads)
        return unless tiercel?
        key = @store.stored_key(name)
        tier = tiers.index { |one| one.get(key) }
        @store.account.hits(tier, -reads) if tier
      end

      # @return [Boolean]
      def tiercel? = kind == :tiercel_store

      # @return [Array<Backend>] the tiers of a Tiercel store, nearest first; empty for other stores
      def tiers = tiercel? ? @store.backend.tiers : []

      # @return [Backend, nil] the last tier of a Tiercel store
      def last = tiers.last

      # @param class_name [String] a backend's class name without its modules
      # @return [Boolean] whether the last tier has this class
      def over?(class_name) = tiers.any? && last.class.name == "Tiercel::Backends::#{class_name}"

      # @return [Boolean] whether each process has a separate cache
      def of_each_process? = kind == :memory_store || over?("Memory") || over?("MemorySegment")

      # @return [String] a short description of the store, without passwords
      def to_s = tiercel? ? @store.backend.to_s : @store.class.name
    end
  end
end
