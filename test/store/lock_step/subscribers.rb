# frozen_string_literal: true

module LockStep
  # Subscribers of notifications, of every kind that ActiveSupport supports. Each one writes its events into the
  # record of the current run.
  class Subscribers
    PATTERNS = [
      "cache_read.active_support", "cache_write.active_support", "cache_fetch_hit.active_support",
      "cache_generate.active_support", "cache_delete.active_support", "cache_exist?.active_support",
      "cache_increment.active_support", "cache_read_multi.active_support", "cache_write_multi.active_support",
      /\Acache_/, /read/, /\Anothing/, nil
    ].freeze
    KINDS = %i[block event monotonic evented silenced].freeze

    # Receives the start and the finish of an event.
    class Evented
      def initialize(record) = @record = record
      def start(name, _id, payload) = @record.call(:start, name, payload)
      def finish(name, _id, payload) = @record.call(:finish, name, payload)
    end

    # Is silent for some events.
    class Silenced < Evented
      def silenced?(name) = name.start_with?("cache_read")
    end

    # @return [Array] the record of the current run
    attr_accessor :seen

    def initialize
      @handles = []
      @seen = []
      @last_id = 0
    end

    # @param kind [Symbol] one of KINDS
    # @param pattern [String, Regexp, nil]
    # @param id [Object] the subscriber's name in the record
    # @return [Object] a handle for {#remove}
    def add(kind, pattern, id: @last_id += 1)
      handle = subscribe(kind, pattern, recorder(id))
      @handles << handle
      handle
    end

    # @param handle [Object]
    def remove(handle)
      ActiveSupport::Notifications.unsubscribe(handle)
      @handles.delete(handle)
    end

    # @param index [Integer] any
    def remove_one(index)
      remove(@handles[index % @handles.size]) unless @handles.empty?
    end

    def remove_all = @handles.dup.each { |handle| remove(handle) }

    private

    def recorder(id)
      ->(kind, name, payload) { @seen << [id, kind, name, Comparable.payload(payload)] }
    end

    def subscribe(kind, pattern, record)
      notifications = ActiveSupport::Notifications
      case kind
      when :block
        notifications.subscribe(pattern) { |name, _start, _end, _id, payload| record.call(kind, name, payload) }
      when :monotonic
        notifications.monotonic_subscribe(pattern) do |name, _start, _end, _id, payload|
          record.call(kind, name, payload)
        end
      when :event then notifications.subscribe(pattern) { |event| record.call(kind, event.name, event.payload) }
      when :evented then notifications.subscribe(pattern, Evented.new(record))
      when :silenced then notifications.subscribe(pattern, Silenced.new(record))
      end
    end
  end

  # Makes two runs comparable, except for the identity of objects.
  module Comparable
    module_function

    # @return [Array] the payload in its order, without irrelevant differences: frozen Strings, an early call of the
    #   namespace proc, and the duration of waits
    def payload(payload)
      payload.except(:tiers, :tier).map do |key, value| # Rails' `fetch_multi` passes no payload on
        value = value.call if key == :namespace && value.is_a?(Proc)
        [key, key == :waited || value(value, frozen: false)]
      end
    end

    # @return [Object] equal for equal values with the same classes, encodings and frozen states
    def value(value, frozen: true)
      case value
      when Proc then :proc
      when Exception then [value.class, value.message.gsub(/0x\h+/, "0x")]
      when Hash, Array, String, Struct then [value.class, frozen && value.frozen?, members(value, frozen)]
      when Float then [Float, [value].pack("G")]
      when nil, true, false, Integer, Symbol, Range, Time then value
      else value.class
      end
    end

    def members(value, frozen)
      case value
      when Hash then value.map { |key, member| [value(key, frozen: frozen), value(member, frozen: frozen)] }
      when String then [value.b, value.encoding, value.instance_variables]
      else value.to_a.map { |member| member.equal?(value) ? :itself : value(member, frozen: frozen) }
      end
    end
  end
end
