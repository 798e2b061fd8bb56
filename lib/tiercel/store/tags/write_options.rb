# frozen_string_literal: true

require "active_support"
require "active_support/cache"

module Tiercel
  module Store
    module Tags
      # What the block of a `fetch` is given to set options with: Rails' own, and `tags`.
      #
      #   cache.fetch("page") do |name, options|
      #     options.tags = ["product:1"]
      #     ...
      #   end
      class WriteOptions < ActiveSupport::Cache::WriteOptions
        # @private
        # @param options [Hash{Symbol => Object}] of the write, which it changes
        # @param store [ActiveSupport::Cache::TiercelStore]
        def initialize(options, store)
          super(options)
          @store = store
        end

        # @private
        # @return [Named, nil]
        def named = @options[:tags]

        # @return [Array<String>] the entry's tags
        def tags = @options[:tags].to_a

        # Sets the tags of the entry. From now on it is a miss once one of them is invalidated; those that it had before
        # protect it from when they were set.
        #
        # @param tags [Array<Object>, Object, nil] as the option `tags`
        # @raise [ArgumentError] as for the option
        def tags=(tags)
          @store.send(:retag, @options, tags)
        end
      end
    end
  end
end
