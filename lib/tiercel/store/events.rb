# frozen_string_literal: true

require "active_support/notifications"
require_relative "fetch/call"

module Tiercel
  module Store
    # Sends notifications and log lines. A call without a subscriber or a debug logger sends nothing; its result is the
    # same. Events use Rails' own `instrument`, with one exception: for a single subscriber, this module sends the same
    # event through the same notifier with fewer instructions.
    #
    # A `fetch` that misses sends one `cache_generate`, like Rails' own stores. It sends one `cache_fetch_hit` instead
    # if its caller receives the value of another caller, or an expired value. Both payloads contain the {Fetch::Trace}.
    # If the fetch exceeds `timeout:`, a `cache_fetch_timeout` follows.
    module Events
      READ = "cache_read.active_support"
      READ_MULTI = "cache_read_multi.active_support"
      FETCH_HIT = "cache_fetch_hit.active_support"
      GENERATE = "cache_generate.active_support"
      WRITE = "cache_write.active_support"
      WRITE_MULTI = "cache_write_multi.active_support"
      DELETE = "cache_delete.active_support"
      EXIST = "cache_exist?.active_support"
      INCREMENT = "cache_increment.active_support"

      # Event names by operation. Frequent calls use the constants above instead.
      NAMES = Hash.new { |names, operation| names[operation] = "cache_#{operation}.active_support" }

      # Whether events have the form of Rails 8.2, whose payloads contain the key instead of the name.
      RAILS_8_2 = (ActiveSupport.gem_version.segments.first(2) <=> [8, 2]) >= 0
      # Whether events of several names contain their keys. On Rails 7.2 they contain the names.
      KEYS_IN_EVENTS = ActiveSupport.gem_version.segments.first >= 8

      # A store's options. They cache the result of `inspect`.
      class LoggedOptions < Hash
        # @return [String]
        def inspect = @inspect ||= super.freeze
      end
      private_constant :LoggedOptions

      private

      # @param event [String]
      # @return [Boolean] whether the event has a subscriber or a log line
      def heard?(event) = debug_logger? || subscribed?(event)

      def subscribed?(event)
        @always_heard || !ActiveSupport::Notifications.notifier.all_listeners_for(event).empty?
      end

      def debug_logger?
        logger = self.logger
        !logger.nil? && logger.debug? && !silence?
      end

      # @param event [String] the event's name
      # @param key [String] the name's key, as the fast path computes it
      # @param options [Hash, nil] options of the call
      def instrument_one(operation, event, name, key, options, &)
        options = options ? merged_options(options) : @options
        key = event_key(name, key, options)
        subscriber = only_subscriber(event) or return instrument(operation, key, logged_options(options), &)
        store = self.class.name
        payload = (RAILS_8_2 ? { store:, key: } : { key:, store: }).merge!(options)
        send_event(event, payload, subscriber, &)
      end

      # @return [Object, nil] the subscriber, if it is the only one and no log line is due
      def only_subscriber(event)
        return if @always_heard || debug_logger?
        subscribers = ActiveSupport::Notifications.notifier.all_listeners_for(event)
        subscribers[0] if subscribers.size == 1 && !subscribers[0].silenceable
      end

      # Rails writes the options into each log line. Inspecting a store's options costs as much as a read, so this
      # caches the text.
      def logged_options(options)
        return options unless options.equal?(@options)
        @logged_options = LoggedOptions[options] unless @logged_options == options
        @logged_options
      end

      # Sends an event like `ActiveSupport::Notifications::Instrumenter#instrument`. If the value is unusable (expired,
      # or of another version), the payload names no tier.
      def send_event(event, payload, subscriber)
        id = ActiveSupport::Notifications.instrumenter.id
        group = subscriber.group_class.new([subscriber.delegate], event, id, payload)
        group.start(event, id, payload)
        begin
          result = yield payload
          payload.delete(:tier) if payload[:hit] == false
          result
        rescue Exception => error # rubocop:disable Lint/RescueException
          payload[:exception] = [error.class.name, error.message]
          payload[:exception_object] = error
          raise
        ensure
          group.finish(event, id, payload)
        end
      end

      # Returns the key for an event's payload. Rails interprets a key's bytes as UTF-8.
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

      # Every event of one key comes through here.
      def instrument(operation, key, options = nil, &)
        return (yield({}) if block_given?) unless heard?(NAMES[operation])
        namespace = options && options[:namespace]
        options = options.merge(namespace: namespace.proc) if Fetch::Call::OneNamespace === namespace
        return super unless operation == :read
        super { |payload| yield(payload).tap { payload.delete(:tier) if payload[:hit] == false } }
      end

      # Every event of several keys comes through here.
      def instrument_multi(operation, keys, options = nil, &)
        heard?(NAMES[operation]) ? super : yield({})
      end

      # @param call [Fetch::Call]
      # @param given [Boolean] whether the caller receives a value
      # @return [void]
      def notify(call, given)
        trace = call.trace
        @settings.account.count(:lease_wait_ns, (trace.waited * 1e6).to_i) if trace&.waited&.positive?
        if trace&.timeout
          instrument(:fetch_timeout, call.name, { **call.options, seconds: trace.timeout, stale: given })
        end
        return if !given || (call.computed? && !trace&.stale)
        instrument(:fetch_hit, call.name, trace ? { **call.options, **trace.of_hit } : call.options)
      end
    end
  end
end
