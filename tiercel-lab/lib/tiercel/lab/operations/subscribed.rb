# frozen_string_literal: true

require "delegate"
require_relative "../operation"

module Tiercel
  module Lab
    module Operations
      # Another operation while somebody listens to Rails' cache notifications, as an APM agent or the log does.
      class Subscribed < SimpleDelegator
        PATTERN = /\Acache_.*\.active_support\z/

        def name = "#{__getobj__.name}_subscribed"

        def phrase = "#{__getobj__.phrase} with a subscriber"

        def enter
          @subscriber = ActiveSupport::Notifications.subscribe(PATTERN) { |event| event }
        end

        def leave = ActiveSupport::Notifications.unsubscribe(@subscriber)
      end
    end
  end
end
