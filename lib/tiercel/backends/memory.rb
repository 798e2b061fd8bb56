# frozen_string_literal: true

require_relative "memory_lru"

module Tiercel
  module Backends
    Memory = MemoryLRU
  end
end
