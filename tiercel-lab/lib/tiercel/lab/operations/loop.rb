# frozen_string_literal: true

require_relative "../operation"

module Tiercel
  module Lab
    module Operations
      # Nothing but the loop and its index: what every other figure contains and is not the store's.
      class Loop < Operation
        called "loop", "the loop itself"

        def body = "names[i]"

        def setup(arm); end

        def verify(arm); end
      end
    end
  end
end
