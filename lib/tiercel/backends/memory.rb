# frozen_string_literal: true

require_relative "../extensions"
require_relative "../sizes"
require_relative "memory_lru"
require_relative "memory_segment" if Tiercel::Extensions.load("segment")

module Tiercel
  module Backends
    # `memory:`, a cache within this process: the segment's engine on private memory ({MemorySegment}), or a plain
    # Ruby LRU ({MemoryLRU}) without the C extension or for a size below 1 MB.
    module Memory
      # Smaller caches use the LRU.
      LEAST_NATIVE_BYTES = 1 << 20

      # @return [Array<Symbol>] names of the options of {.build}
      def self.option_names = %i[size memo]

      # @param url [BackendURL]
      # @param options [Hash] `size:` bytes or a String (32 MB), `memo:` see {MemorySegment}
      # @return [MemorySegment, MemoryLRU]
      # @raise [ConfigurationError] if an option is invalid
      def self.build(url, options)
        small = options[:size] && Sizes.bytes(options[:size]) < LEAST_NATIVE_BYTES
        return MemorySegment.build(url, options) if defined?(MemorySegment) && !small
        MemoryLRU.build(url, options.slice(*MemoryLRU.option_names))
      end
    end
  end
end
