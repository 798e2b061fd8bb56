# frozen_string_literal: true

require_relative "../backend"
require_relative "../guard"

module Tiercel
  class Tiers < Backend
    # The guard of the last tier: nobody asks that one before it has been told what it missed ({Outage}).
    #
    # @private
    class FarGuard < Guard
      def call(method, key = nil, returning: nil)
        super do
          @backend.settle
          yield
        end
      end
    end
  end
end
