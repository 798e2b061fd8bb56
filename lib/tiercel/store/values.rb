# frozen_string_literal: true

require_relative "values/coded"

module Tiercel
  module Store
    # Values in and out of a backend without an Entry between: what the fast
    # path stands on. Each implementation answers to
    #
    # - `read(key, version)`: the value, or {Coder::MISS} (nothing there), or {Coder::SLOW}
    #   (only the entries' way can tell: ended, damaged, of another version)
    # - `read_multi(keys, slow)`: Hash of keys and values; keys of which only the entries' way can tell are added to
    #   the Array `slow`
    # - `write(key, value, version, expires_in, ttl, threshold)`: as `Store#write`
    #
    # and gives exactly what the entries' way would give.
    module Values
      MISS = Coder::MISS
      SLOW = Coder::SLOW

      # @param backend [Backend]
      # @param guard [Guard]
      # @param coder [Coder]
      # @param memo [Memo, nil] where values are to be deep-frozen and kept
      # @return [Coded, Native, Frozen]
      def self.for(backend, guard, coder, memo)
        return Coded.new(backend, guard, coder) unless backend.respond_to?(:segment)
        require_relative "values/frozen"
        memo ? Frozen.new(backend, guard, coder, memo) : Native.new(backend, guard, coder)
      end
    end
  end
end
