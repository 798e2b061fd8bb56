# frozen_string_literal: true

require_relative "../../backend"

module Tiercel
  module Backends
    class Redis < Backend
      # TTLs in milliseconds, which also tell one writing of a key from another.
      #
      # Redis has no version of an entry, and equal bytes may have been changed
      # and changed back. What it does have is the end of each entry in ms. So
      # an entry without a TTL gets an end 70,000 years or more away that is
      # random in 51 bits, and the token is that end together with the bytes
      # (adr/006).
      module Lifetime
        # The least TTL that stands for "no end". With it and a random number below it, the end stays
        # under 2**53, where Lua's numbers are exact.
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
