# frozen_string_literal: true

require "weakref"

module Tiercel
  module Store
    module Fetch
      # The fiber that leads a flight. Its followers check whether the fiber can continue at the moment, and whether it
      # ever will.
      #
      # Ruby runs no `ensure` of a fiber that is suspended and then dropped, such as the fiber of an Enumerator that has
      # not reached its end. So a Leader refers to its fiber weakly: once Ruby collects the fiber, the leader is gone.
      #
      # @private
      class Leader
        # The fiber-local variable of a fiber's Leader.
        CURRENT = :tiercel_leader
        # The methods that suspend a fiber without a scheduler: Fiber.yield, Enumerator::Yielder#yield and #<<.
        SUSPENDED_IN = %w[yield <<].freeze
        PLACES = 8
        private_constant :SUSPENDED_IN, :PLACES

        # @return [Leader] the current fiber as a leader
        def self.current = Thread.current[CURRENT] ||= new

        def initialize
          @thread = Thread.current
          @fiber = WeakRef.new(Fiber.current)
        end

        # @return [Boolean] whether the fiber will never continue: its thread or fiber has ended, or Ruby has collected
        #   the fiber
        def gone?
          return true unless @thread.alive?
          fiber = self.fiber
          fiber.nil? || !fiber.alive?
        end

        # @return [Boolean] whether the fiber cannot continue while the caller waits: it is a fiber of the caller's own
        #   thread,
        #   and no scheduler switches to it
        def stuck_behind_caller?
          return false unless @thread.equal?(Thread.current)
          fiber = self.fiber
          return true if fiber.nil? || fiber.equal?(Fiber.current)
          scheduler = Fiber.current_scheduler
          scheduler.nil? || suspended_by_hand?(fiber, scheduler)
        end

        # @return [Array<String>, nil] the backtrace of its thread, if the thread waits for another thread without a
        #   timeout
        def waits_for_a_thread_at
          # Thread#status does not distinguish a wait without a timeout from a wait for a file or a clock.
          @thread.backtrace(0, PLACES) if @thread.inspect.include?("sleep_forever")
        end

        private

        def fiber
          @fiber.__getobj__
        rescue WeakRef::RefError
          nil
        end

        # A scheduler may itself call Fiber.yield to suspend its fibers.
        def suspended_by_hand?(fiber, scheduler)
          place = fiber.backtrace_locations(0, 1)&.first or return false
          SUSPENDED_IN.include?(place.base_label) && place.path != scheduler.method(:block).source_location&.first
        end
      end
    end
  end
end
