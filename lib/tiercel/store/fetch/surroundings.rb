# frozen_string_literal: true

require "active_support"
require "active_support/core_ext/class/subclasses"

module Tiercel
  module Store
    module Fetch
      # The parts of a thread's state on which Rails' features depend. A block that runs in another thread receives this
      # state from the thread that called `fetch`; so it renders a fragment in the reader's language, for example.
      #
      # - `I18n.locale` and `Time.zone`
      # - the values of all `ActiveSupport::CurrentAttributes` (the same objects, not copies)
      # - roles and shards of `connected_to`
      # - the request-local caches of all stores (the same objects), if the caller waits for the block
      #
      # Other state of the thread (`Thread.current[...]`, an open transaction, a query cache) is not copied.
      #
      # @private
      class Surroundings
        # Rails' key of the request-local caches of a thread, by store.
        LOCAL_CACHES = :active_support_local_cache_registry
        private_constant :LOCAL_CACHES

        # @param awaited [Boolean] whether the caller waits for the block
        def initialize(awaited: false)
          @local_caches = ActiveSupport::IsolatedExecutionState[LOCAL_CACHES].dup if awaited
          @locale = I18n.locale if defined?(I18n)
          @zone = Time.zone if Time.respond_to?(:zone)
          @currents = current_attributes
          @connections = connections&.dup
        end

        # Runs the block with this state, inside the Rails executor if there is one. The executor does not see an error
        # of the block, because the waiting caller decides whether to report it.
        #
        # @return [Object] the block's value
        def within(&)
          value = error = nil
          executed do
            value = localized { with_connections { with_currents(@currents) { with_local_caches(&) } } }
          rescue Exception => error # rubocop:disable Lint/RescueException, Lint/NoReturnInBeginEndBlocks
            nil
          end
          raise error if error
          value
        end

        private

        def executed(&)
          executor = Rails.application.executor if defined?(Rails.application) && Rails.application
          executor ? executor.wrap(&) : yield
        end

        def localized(&)
          in_zone = @zone ? -> { Time.use_zone(@zone, &) } : -> { yield }
          @locale ? I18n.with_locale(@locale, &in_zone) : in_zone.call
        end

        def current_attributes
          return [] unless defined?(ActiveSupport::CurrentAttributes)
          ActiveSupport::CurrentAttributes.descendants.filter_map do |current|
            attributes = current.attributes if current.name
            [current, attributes.dup] if attributes&.any?
          end
        end

        # Sets the attributes without the application's writer methods: a writer may change more than its own attribute,
        # and may reject the earlier nil.
        def with_currents(currents)
          instances = currents.map { |current, attributes| [current.instance, attributes] }
          before = instances.map { |instance, _| instance.attributes }
          instances.each { |instance, attributes| instance.attributes = attributes.dup }
          begin
            yield
          ensure
            instances.zip(before) { |(instance, _), attributes| instance.attributes = attributes }
          end
        end

        # Shares the local caches, so that the caller sees the block's writes and deletes.
        def with_local_caches
          return yield unless @local_caches
          before = ActiveSupport::IsolatedExecutionState[LOCAL_CACHES]
          ActiveSupport::IsolatedExecutionState[LOCAL_CACHES] = @local_caches
          begin
            yield
          ensure
            ActiveSupport::IsolatedExecutionState[LOCAL_CACHES] = before
          end
        end

        # @return [Array<Hash>, nil] Active Record's list of open `connected_to` blocks
        def connections
          return if !defined?(ActiveRecord) || ActiveRecord.autoload?(:Base)
          ActiveRecord::Base.connected_to_stack if ActiveRecord::Base.respond_to?(:connected_to_stack)
        end

        def with_connections
          return yield if @connections.nil? || @connections.empty?
          there = connections
          before = there.dup
          there.replace(@connections)
          begin
            yield
          ensure
            there.replace(before)
          end
        end
      end
    end
  end
end
