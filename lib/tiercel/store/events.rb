# frozen_string_literal: true

require "active_support/notifications"
require_relative "../fetch"

module Tiercel
  module Store
    # Sends notifications and log lines. A call without a subscriber or a debug logger sends nothing; its result is the
    # same.
    #
    # Rails' own `instrument` serves the calls of Rails' methods. The calls of the {FastPath} write the same line and
    # send the same event with fewer instructions ({#log_call}, {#send_event}).
    #
    # A `fetch` that misses sends one `cache_generate`, like Rails' own stores. It sends one `cache_fetch_hit` instead
    # if its caller receives the value of another caller, or an expired value.
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

      # A store's options. They cache their text in a log line: `inspect` costs as much as a read.
      class LoggedOptions < Hash
        # @return [String]
        def text = @text ||= (empty? ? "" : " (#{inspect})").freeze

        # @param others [Hash] options of a call
        # @return [String] the text of both, merged
        def text_with(others)
          return " (#{merge(others).inspect})" if empty? || others.any? { |option, _| key?(option) }
          "#{@open ||= text.delete_suffix("})").freeze}, #{others.inspect.delete_prefix("{")})"
        end
      end

      # The events that the fast path sends.
      FAST = [READ, READ_MULTI, FETCH_HIT, WRITE, WRITE_MULTI, DELETE].freeze

      # Whether events have subscribers. Keeps the answers until a subscription changes ({FastPath::Patches}): the
      # notifier's own look-up takes almost twice as long (adr/009).
      class Subscriptions
        # The answers for single events, and for everything that a call of the fast path may send.
        Answers = Struct.new(:single, :any)
        private_constant :Answers

        def initialize
          forget
        end

        # @param event [String] one of the constants above, or of {NAMES}
        # @return [Boolean]
        def to?(event)
          answers = @answers.single # an answer that is older than a change goes into the old Hash
          answer = answers[event]
          return answer unless answer.nil?
          answers[event] = !ActiveSupport::Notifications.notifier.all_listeners_for(event).empty?
        end

        # @return [Boolean] whether one of the events of {FAST} has subscribers. This costs less than {#to?}
        def any?
          answers = @answers
          any = answers.any
          return any unless any.nil?
          answers.any = FAST.any? { |event| to?(event) }
        end

        # @return [void]
        def forget = @answers = Answers.new({}.compare_by_identity)
      end

      # The subscriptions of this process.
      SUBSCRIPTIONS = Subscriptions.new
      TIMED = ActiveSupport::Notifications::Fanout::Subscribers::Timed
      private_constant :LoggedOptions, :Subscriptions, :TIMED

      private

      # @param event [String]
      # @return [Boolean] whether the event has a subscriber or a log line
      def heard?(event) = debug_logger? || @always_heard || SUBSCRIPTIONS.to?(event)

      # @param event [String] one of {FAST}
      # @return [Boolean]
      def subscribed?(event) = @always_heard || (SUBSCRIPTIONS.any? && SUBSCRIPTIONS.to?(event))

      # @return [Boolean] whether the events of {FAST} have neither subscribers nor a logger: the usual case
      def quiet? = !(@always_heard || SUBSCRIPTIONS.any? || logger)

      def debug_logger?
        logger = self.logger
        !logger.nil? && logger.debug? && !silence?
      end

      # --- calls of the fast path ---

      # Writes the line of a call, as Rails' `instrument` does. If other code has replaced `instrument`, that code
      # receives the call ({#send_event}) and writes the line.
      #
      # @param subject [Object] the key, the name, or the number of names
      # @param options [Hash, nil] options of the call
      # @param text [String, nil] the options' text, as an earlier line of the same call returned it
      # @return [String] the options' text
      def log_call(operation, subject, options, text = nil)
        return "" if @always_heard
        text ||= options_text(options)
        logger.debug("Cache #{operation}: #{subject}#{text}")
        text
      end

      def options_text(options)
        own = @logged_options
        own = @logged_options = LoggedOptions[@options] unless @options.eql?(own)
        options ? own.text_with(with_tags_in_event(options)) : own.text
      end

      # Merges options like `merged_options`. The fast path has already checked them.
      #
      # @param options [Hash, nil] options of the call
      # @return [Hash] the options for the event
      def event_options(options) = options ? @options.merge(with_tags_in_event(options)) : @options

      # An event needs no keys of the tags.
      def with_tags_in_event(options)
        tags = options[:tags]
        tags ? options.merge(tags: Tags::Named.in_event(tags)) : options
      end

      # Sends the event of a call with one name.
      #
      # @param event [String] the event's name
      # @param key [String] the name's key, as the fast path computes it
      # @param options [Hash, nil] options of the call
      # @yield see {#send_event}
      def send_event_of_name(operation, event, name, key, options, &)
        options = event_options(options)
        send_event(operation, event, event_key(name, key, options), options, &)
      end

      # @param subject [Object] the payload's :key
      # @param options [Hash] merged options
      # @param instead [Symbol] the method that receives the call if other code listens to this method
      # @yieldparam payload [Hash]
      # @return [Object] the block's result
      def send_event(operation, event, subject, options, instead = :instrument, &)
        return __send__(instead, operation, subject, options, &) if @always_heard
        store = self.class.name
        payload = (RAILS_8_2 ? { store:, key: subject } : { key: subject, store: }).merge!(options)
        subscribers = ActiveSupport::Notifications.notifier.all_listeners_for(event)
        only = subscribers[0] if subscribers.size == 1
        return send_to(only, event, payload, &) if only && !only.silenceable
        ActiveSupport::Notifications.instrument(event, payload) { yield payload if block_given? }
      end

      # Sends an event to its only subscriber, like `ActiveSupport::Notifications::Instrumenter#instrument`. A block
      # with five parameters is called without an object for its group.
      def send_to(subscriber, event, payload)
        id = ActiveSupport::Notifications.instrumenter.id
        if subscriber.instance_of?(TIMED)
          start = Time.now
        else
          group = subscriber.group_class.new([subscriber.delegate], event, id, payload)
          group.start(event, id, payload)
        end
        begin
          yield payload if block_given?
        rescue Exception => error # rubocop:disable Lint/RescueException
          payload[:exception] = [error.class.name, error.message]
          payload[:exception_object] = error
          raise
        ensure
          group ? group.finish(event, id, payload) : subscriber.delegate.call(event, start, Time.now, id, payload)
        end
      end

      # --- names and keys ---

      # Returns the key for an event's payload. Rails interprets a key's bytes as UTF-8.
      def event_key(name, key, options)
        name.instance_of?(String) && key.encoding == Encoding::UTF_8 ? key : normalize_key(name, options)
      end

      # @param keys [Array<String>, nil] the names' keys, if the fast path has computed them
      # @return [Array<Object>] keys, or names on Rails 7.2
      def names_in_event(names, options, keys = nil)
        return names unless KEYS_IN_EVENTS
        return names.map { |name| normalize_key(name, options) } unless keys
        Array.new(names.size) { |index| event_key(names[index], keys[index], options) }
      end

      # @param hash [Hash{Object => Object}] names and values
      def hash_in_event(hash, options)
        KEYS_IN_EVENTS ? hash.transform_keys { |name| normalize_key(name, options) } : hash
      end

      # Every event of one key comes through here.
      def instrument(operation, key, options = nil, &)
        return (yield({}) if block_given?) unless heard?(NAMES[operation])
        namespace = options && options[:namespace]
        options = options.merge(namespace: namespace.proc) if Tiercel::Fetch::Miss::OneNamespace === namespace
        return super unless operation == :read
        super { |payload| yield(payload).tap { payload.delete(:tier) if payload[:hit] == false } }
      end

      # Every event of several keys comes through here.
      def instrument_multi(operation, keys, options = nil, &)
        heard?(NAMES[operation]) ? super : yield({})
      end
    end
  end
end
