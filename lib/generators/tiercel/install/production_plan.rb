# frozen_string_literal: true

require_relative "environment_file"
require_relative "solid_cache_settings"
require_relative "successor"

module Tiercel
  module Generators
    # The new text of config/environments/production.rb.
    #
    # @private
    class ProductionPlan
      SEVERAL = "config.cache_store is set several times (lines %s), so it is unclear which of them --url " \
                "replaces. Write by hand: config.cache_store = :tiercel_store, %s"
      ELSEWHERE = "config/application.rb sets config.cache_store under a condition. It stays; use --url=... to " \
                  "replace it in production."
      BY_HAND = "config/environments/production.rb%s: the statement shares its line with other code. Write by hand: %s"
      private_constant :SEVERAL, :ELSEWHERE, :BY_HAND

      # @return [EnvironmentFile]
      attr_reader :file
      # @return [Array<String>] sentences that explain why a store stays unchanged
      attr_reader :notes

      # @param production [String] the text of config/environments/production.rb
      # @param application [String] the text of config/application.rb
      # @param url [String, nil] the URL that the user requested
      # @param size [String, nil] the size that the user requested
      # @yieldreturn [SolidCacheSettings] called only if the application uses Solid Cache
      def initialize(production, application: "", url: nil, size: nil, &solid_cache)
        @file = EnvironmentFile.new(production)
        @application = CurrentStore.all(application)
        @url = url
        @size = size
        @solid_cache = solid_cache
        @notes = []
        @text = @file.stores.any? ? replaced : appended
        @notes.concat(successors.flat_map(&:notes))
      end

      # @return [String] the new text
      attr_reader :text

      # @return [Boolean]
      def changed? = text != file.text

      # @return [Array<Successor>] successors of the stores in the file
      def successors = @successors ||= stores.map { |store| successor(store) }

      # @return [Array<String>]
      def statements = successors.filter_map(&:statement)

      # @return [Boolean] whether a part of the cache is in memory that the processes share
      def shared? = successors.any?(&:shared?)

      # @return [Boolean] whether memory holds copies of a tier behind it
      def tiered? = successors.any?(&:tiered?)

      # @return [Array<String>] paths of caches in the application's folder
      def paths = successors.filter_map(&:path)

      # @return [Hash{String => String}] lines for the Gemfile, by gem
      def gems = successors.map(&:gems).reduce({}, :merge)

      private

      def stores
        return [] if blocked?
        @file.stores.any? ? @file.stores : [@application.first]
      end

      # Whether the generator cannot decide which store the user means.
      def blocked?
        return !@url.nil? if @file.stores.size > 1
        @file.stores.empty? && @url.nil? && @application.any? && (@application.size > 1 || @application[0].conditional?)
      end

      def successor(store)
        solid = @solid_cache&.call if store&.kind == :solid_cache_store
        alternative = @file.stores.size > 1 || (store&.conditional? && @url.nil?)
        Successor.new(store, url: @url, size: @size, solid_cache: solid, alternative:)
      end

      def replaced
        if blocked?
          @notes << format(SEVERAL, @file.stores.map(&:line).join(", "), @url.split.map(&:inspect).join(", "))
          return @file.text
        end
        @file.with(successors.zip(stores).map { |successor, store| placed(successor.statement, store) })
      end

      def placed(statement, store)
        return statement if statement.nil? || store.replaceable?
        @notes << format(BY_HAND, ":#{store.line}", statement)
        nil
      end

      def appended
        if blocked?
          @notes << ELSEWHERE
          return @file.text
        end
        statement = statements.first or return @file.text
        @file.with_appended(statement) || @file.text.tap { @notes << format(BY_HAND, "", statement) }
      end
    end
  end
end
