# frozen_string_literal: true

require "active_support"
require "active_support/cache"

module Tiercel
  class Fetch
    # The options object that the block of a `fetch` receives: Rails' own object with the addition of `tags`.
    #
    #   cache.fetch("page") do |name, options|
    #     options.tags = ["product:1"]
    #     ...
    #   end
    class WriteOptions < ActiveSupport::Cache::WriteOptions
      # @private
      # @param options [Hash{Symbol => Object}] options of the write; the setters change them
      # @param store [ActiveSupport::Cache::TiercelStore]
      def initialize(options, store)
        super(options)
        @store = store
      end

      # @private
      # @return [Hash{Symbol => Object}]
      attr_reader :options

      # @private
      # @return [Named, nil]
      def named = @options[:tags]

      # @return [Array<String>] the entry's tags
      def tags = @options[:tags].to_a

      # Sets the tags of the entry. An invalidation of one of them makes the entry a miss, if it comes after this
      # call. The tags that the entry had before are compared with their earlier generations.
      #
      # @param tags [Array<Object>, Object, nil] like the option `tags`
      # @raise [ArgumentError] like the option `tags`
      def tags=(tags)
        @store.retag(@options, tags)
      end

      # The same for options that other code continues to use: the first setter copies them. Most blocks set no
      # option.
      #
      # @private
      class CopiedWhenSet < WriteOptions
        RAILS = ActiveSupport::Cache::WriteOptions
        # The methods of Rails' class. A method that is not in this list may change an option.
        KNOWN = %i[version version= expires_in expires_in= expires_at expires_at=].freeze
        private_constant :RAILS, :KNOWN

        # @return [Boolean] whether Rails' class has no other methods
        def self.possible?
          (RAILS.public_instance_methods(false) - KNOWN).empty? && RAILS.ancestors.first(2) == [RAILS, Object]
        end

        # In place of `new`, which needs three more calls.
        #
        # @return [self]
        def sharing(options, store)
          @options = options
          @store = store
          @copied = false
          self
        end

        %i[version= expires_in= expires_at= tags=].each do |setter|
          define_method(setter) do |value|
            @options = @options.dup unless @copied
            @copied = true
            super(value)
          end
        end
      end
    end
  end
end
