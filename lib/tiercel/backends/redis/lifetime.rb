# frozen_string_literal: true

require_relative "../../backend"

module Tiercel
  module Backends
    class Redis < Backend
      # TTLs in milliseconds, which also distinguish successive writes of a key.
      #
      # Redis has no entry versions, and equal bytes may have been changed and changed back. But Redis stores each
      # entry's expiry in ms. An entry without a TTL therefore gets an expiry at least 70,000 years away, with 51
      # random bits. The token consists of that expiry and the bytes (adr/006).
      module Lifetime
        # The lowest TTL that means "never expires". A random number below it is added, so the sum stays under 2**53,
        # the limit of Lua's exact integers.
        ENDLESS_MS = 2**51
        ENDLESS_ARGUMENT = ENDLESS_MS.to_s.freeze

        module_function

        # @param ttl [Numeric, nil] seconds
        # @return [String] milliseconds, rounded up
        def ms(ttl) = (ttl ? [ttl * 1000, ENDLESS_MS - 1].min.ceil : ENDLESS_MS + Random.rand(ENDLESS_MS)).to_s
      end
    end
  end
end
