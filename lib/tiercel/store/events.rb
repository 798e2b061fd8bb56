# frozen_string_literal: true

require "active_support/notifications"

module Tiercel
  module Store
    # Sends events and log lines. Rails' own `instrument` costs more than a read of shared memory, so it runs only for a
    # subscriber or a logger. The result of a call never depends on either.
    #
    # A `fetch` that misses sends one `cache_generate`, like Rails' own stores. It sends one `cache_fetch_hit` instead
    # if its caller receives the value of another caller, or an expired value.
    #
    # @private
    module Events
      READ = "cache_read.active_support"
      READ_MULTI = "cache_read_multi.active_support"
      FETCH_HIT = "cache_fetch_hit.active_support"
      GENERATE = "cache_generate.active_support"
      WRITE = "cache_write.active_support"
      WRITE_MULTI = "cache_write_multi.active_support"
      DELETE = "cache_delete.active_support"

      # Event names by operation. Frequent calls use the constants above instead.
      NAMES = Hash.new { |names, operation| names[operation] = "cache_#{operation}.active_support" }

      # Rails 8.2 changed the form of events: their payloads contain the key instead of the name.
      RAILS_8_2 = (ActiveSupport.gem_version.segments.first(2) <=> [8, 2]) >= 0
      # Since Rails 8.0, events of several names contain their keys; on Rails 7.2 they contain the names.
      KEYS_IN_EVENTS = ActiveSupport.gem_version.segments.first >= 8

      # --- the events of {Tiercel::Fetch} ---

      # Runs a block within its event.
      #
      # @param miss [Fetch::Miss]
      # @return [Object] the block's value
      def generate(miss, &)
        return yield unless heard?(GENERATE)
        options = { **miss.options, **miss.facts_of_block }
        instrument(:generate, event_key(miss.name, miss.key, options), options, &)
      end

      # Stores a block's value within the event of a write.
      #
      # @param options [Hash] the options after the block
      def writing(miss, options, &)
        return yield unless heard?(WRITE)
        instrument(:write, event_key(miss.name, miss.key, options), options, &)
      end

      # @return [Boolean] whether a write sends an event
      def tells_writes? = heard?(WRITE)

      # Sends the event of a caller that received a value without running its block.
      #
      # @return [void]
      def notify_of_hit(miss)
        return unless heard?(FETCH_HIT)
        facts = miss.facts_of_hit
        name = RAILS_8_2 ? event_key(miss.name, miss.key, miss.options) : miss.name
        instrument(:fetch_hit, name, facts.empty? ? miss.options : { **miss.options, **facts })
      end

      private

      # Every call checks this, because Rails does not notify stores of a new subscriber or logger. The question of
      # {#listened?} is written out here: one more method call costs a read 12 ns of 250.
      #
      # @param event [String] one of the constants above, or of {NAMES}
      # @return [Boolean] whether the event has a subscriber or a log line
      def heard?(event)
        notifier = ActiveSupport::Notifications.notifier
        listeners = notifier.all_listeners_for(event) if notifier.respond_to?(:all_listeners_for)
        return true if @patches.events || (listeners ? !listeners.empty? : notifier.listening?(event))
        logger = self.logger
        logger.nil? ? false : logger.debug? && !silence?
      end

      # Only for the second event of a call, after {#heard?} of the first returned false: then no logger logs.
      def listened?(event)
        notifier = ActiveSupport::Notifications.notifier
        return notifier.listening?(event) unless notifier.respond_to?(:all_listeners_for)
        !notifier.all_listeners_for(event).empty?
      end

      # @return [String] the key for an event's payload. Rails interprets a key's bytes as UTF-8
      def event_key(name, key, options)
        name.instance_of?(String) && key.encoding == Encoding::UTF_8 ? key : normalize_key(name, options)
      end

      # @return [Array<Object>] keys, or names on Rails 7.2
      def names_in_event(names, options)
        KEYS_IN_EVENTS ? names.map { |name| normalize_key(name, options) } : names
      end

      # @param hash [Hash{Object => Object}] names and values
      def hash_in_event(hash, options)
        KEYS_IN_EVENTS ? hash.transform_keys { |name| normalize_key(name, options) } : hash
      end

      # Every event of one key passes through this method.
      def instrument(operation, key, options = nil, &)
        return (yield({}) if block_given?) unless heard?(NAMES[operation])
        namespace = options && options[:namespace]
        options = options.merge(namespace: namespace.proc) if Tiercel::Fetch::Miss::OneNamespace === namespace
        return super unless operation == :read
        super { |payload| yield(payload).tap { payload.delete(:tier) if payload[:hit] == false } }
      end

      # Every event of several keys passes through this method.
      def instrument_multi(operation, keys, options = nil, &)
        heard?(NAMES[operation]) ? super : yield({})
      end
    end
  end
end
