# frozen_string_literal: true

require "weakref"

module Tiercel
  module Store
    module Fetch
      # The fiber that leads a flight. Other callers ask whether it can go on, and whether it ever will.
      #
      # Ruby runs no `ensure` of a fiber that is suspended in its block and then dropped, such as that of an Enumerator
      # whose next value nobody asks for. So a Leader refers to its fiber weakly: once Ruby collects the fiber, the
      # leader is gone.
      #
      # @private
      class Leader
        CURRENT = :tiercel_leader
        # The methods that suspend a fiber without a scheduler: Fiber.yield, Enumerator::Yielder#yield and #<<.
        SUSPENDED_IN = %w[yield <<].freeze
        PLACES = 8
        private_constant :CURRENT, :SUSPENDED_IN, :PLACES

        # @return [Leader] the fiber at hand; there is one for each fiber
        def self.current = Thread.current[CURRENT] ||= new

        def initialize
          @thread = Thread.current
          @fiber = WeakRef.new(Fiber.current)
        end

        # @return [Boolean] whether it will never go on: its thread has ended, or its fiber has ended or was dropped
        def gone?
          return true unless @thread.alive?
          fiber = self.fiber
          fiber.nil? || !fiber.alive?
        end

        # @return [Boolean] whether it cannot go on while the caller waits: it is a fiber of the caller's own thread,
        #   and no scheduler switches to it
        def stuck_behind_caller?
          return false unless @thread.equal?(Thread.current)
          fiber = self.fiber
          return true if fiber.nil? || fiber.equal?(Fiber.current)
          scheduler = Fiber.current_scheduler
          scheduler.nil? || suspended_by_hand?(fiber, scheduler)
        end

        # @return [Array<String>, nil] where its thread waits for another thread, without a limit; nil for anything else
        def waits_for_a_thread_at
          # Thread#status does not tell a wait without a limit from one for a file or a clock.
          @thread.backtrace(0, PLACES) if @thread.inspect.include?("sleep_forever")
        end

        private

        def fiber
          @fiber.__getobj__
        rescue WeakRef::RefError
          nil
        end

        # A scheduler may suspend its fibers by Fiber.yield itself.
        def suspended_by_hand?(fiber, scheduler)
          place = fiber.backtrace_locations(0, 1)&.first or return false
          SUSPENDED_IN.include?(place.base_label) && place.path != scheduler.method(:block).source_location&.first
        end
      end
    end
  end
end
