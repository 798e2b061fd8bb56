# frozen_string_literal: true

module Tiercel
  module Store
    module Fetch
      # A `fetch_multi` on its way through Rails' own method, which reads, yields for each name that is not there, and
      # writes what it was given. The first such name has all of them computed and stored; the rest are answered from
      # that, and the write at the end has nothing to do. Kept with the fiber, as {Filling} is.
      #
      # @private
      class Plan
        CURRENT = :tiercel_plan
        private_constant :CURRENT

        # @return [Plan, nil]
        def self.current = Thread.current[CURRENT]

        # @return [Hash{String => Accessor::Found}] by key, what the read has found that was no value
        attr_reader :shown

        # @param store [ActiveSupport::Cache::TiercelStore]
        # @yieldparam names [Array<Object>] that are not there
        # @yieldreturn [Hash{Object => Object}] their values
        def initialize(store, &values)
          @store = store
          @compute = values
          @shown = {}
        end

        # @return [Object] the block's value
        def run
          before = Plan.current
          Thread.current[CURRENT] = self
          yield
        ensure
          Thread.current[CURRENT] = before
        end

        # @param store [ActiveSupport::Cache::TiercelStore] that has read
        # @param names [Array<Object>]
        # @param found [Hash{Object => Object}]
        # @return [void]
        def read(store, names, found)
          @missing ||= names.reject { |name| found.key?(name) } if store.equal?(@store)
        end

        # @param store [ActiveSupport::Cache::TiercelStore] that has read
        # @param key [String]
        # @param found [Accessor::Found]
        # @return [void]
        def unusable(store, key, found)
          @shown[key] = found if store.equal?(@store)
        end

        # @return [Object] the value of a name that was not there
        def value_of(name)
          @values ||= @compute.call(@missing || [name])
          @values.fetch(name) { @compute.call([name]).fetch(name) }
        end

        # @return [Boolean] whether the write of these names that comes now is of what has been stored already
        def stored?(store, count) = store.equal?(@store) && !@values.nil? && count <= @values.size
      end
    end
  end
end
