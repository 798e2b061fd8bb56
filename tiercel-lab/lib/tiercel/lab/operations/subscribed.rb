# frozen_string_literal: true

require "delegate"
require_relative "../operation"

module Tiercel
  module Lab
    module Operations
      # Another operation while somebody listens to Rails' cache notifications, as an APM agent or the log does: with a
      # block that takes name, start, end, id and payload, or with one that takes an event object, for which Rails reads
      # the thread's CPU time and allocations.
      class Subscribed < SimpleDelegator
        PATTERN = /\Acache_.*\.active_support\z/
        SUBSCRIBERS = {
          "subscribed" => ->(_name, _start, _end, _id, _payload) {},
          "event" => ->(_event) {},
        }.freeze

        # @param operation [Operation]
        # @param subscriber [String] of {SUBSCRIBERS}
        def initialize(operation, subscriber = "subscribed")
          super(operation)
          @kind = subscriber
        end

        def name = "#{__getobj__.name}_#{@kind}"

        def phrase = "#{__getobj__.phrase} with a subscriber#{" to event objects" if @kind == "event"}"

        def enter
          @subscriber = ActiveSupport::Notifications.subscribe(PATTERN, SUBSCRIBERS.fetch(@kind))
        end

        def leave = ActiveSupport::Notifications.unsubscribe(@subscriber)
      end
    end
  end
end
