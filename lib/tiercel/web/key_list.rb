# frozen_string_literal: true

require_relative "../clock"

module Tiercel
  class Web
    # The first keys with a prefix. The scan of a segment takes no locks, and the scan of other backends goes page by
    # page, so writers do not wait for the list.
    #
    # @private
    class KeyList
      MOST = 100
      # The scan ends after this time; it is checked after each key.
      SECONDS = 0.2
      # A listed key; for a segment also its size there.
      Item = Struct.new(:key, :bytes)
      private_constant :SECONDS

      # @return [Array<Item>]
      attr_reader :items

      # @param store [ActiveSupport::Cache::TiercelStore]
      # @param prefix [String] the prefix without the namespace
      # @raise [BackendError]
      def initialize(store, prefix)
        @backend = store.backend.tiers.last
        @prefix = store.stored_prefix + prefix
        @items = []
        fill
        @items.sort_by! { |item| item.key.b }
      end

      # @return [Boolean] whether there may be further keys
      def cut? = @cut

      private

      def fill
        ends_at = Clock.monotonic + SECONDS
        each do |key, bytes|
          return @cut = true if @items.size == MOST || Clock.monotonic > ends_at
          @items << Item.new(key, bytes)
        end
      end

      def each
        return @backend.scan(@prefix) { |key| yield key, nil } unless @backend.respond_to?(:segment)
        @backend.segment.each_entry(@prefix) { |key, _value, allocated| yield key, allocated }
      end
    end
  end
end
