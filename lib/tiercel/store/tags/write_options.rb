# frozen_string_literal: true

require "active_support"
require "active_support/cache"

module Tiercel
  module Store
    module Tags
      # The options object for the block of a `fetch`: Rails' own, and `tags`.
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
        # @return [Hash{Symbol => Object}]
        attr_reader :options

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
          @store.retag(@options, tags)
        end

        # The same for options that others go on to use: they are copied when one is first set. Most blocks set none.
        #
        # @private
        class CopiedWhenSet < WriteOptions
          RAILS = ActiveSupport::Cache::WriteOptions
          # The methods of Rails' class. Any other method may set something.
          KNOWN = %i[version version= expires_in expires_in= expires_at expires_at=].freeze
          private_constant :RAILS, :KNOWN

          # @return [Boolean] whether all that may set an option is known
          def self.possible?
            (RAILS.public_instance_methods(false) - KNOWN).empty? && RAILS.ancestors.first(2) == [RAILS, Object]
          end

          # @return [Hash{Symbol => Object}] of the write: the Hash that it was given as long as no option is set
          attr_reader :options

          def initialize(options, store) # rubocop:disable Lint/MissingSuper -- one call in the place of three
            @options = options
            @store = store
            @copied = false
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
end
