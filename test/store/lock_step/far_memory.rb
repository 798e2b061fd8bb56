# frozen_string_literal: true

require "support/ruby_memory"

module LockStep
  # A memory backend that pretends to be remote, so that a request-local cache pays off, and counts its calls.
  class FarMemory < RubyMemory
    OPERATIONS = %i[
      get get_multi get_with_token set set_multi add compare_and_set delete delete_multi increment touch
      look occupy occupy_multi compare_and_set_multi
    ].freeze

    # @return [Integer] number of calls
    attr_accessor :trips

    # @param local_cache [Boolean] whether the store mounts a request-local cache
    def initialize(local_cache:)
      super()
      @local_cache = local_cache
      @trips = 0
    end

    def near? = false
    def local_cache? = @local_cache
    def to_s = "far:"

    OPERATIONS.each do |name|
      define_method(name) do |*arguments|
        outermost = !@asked
        @asked = true
        @trips += 1 if outermost
        super(*arguments)
      ensure
        @asked = false if outermost
      end
    end

    # @return [String, nil] the result of {#get}, without counting a trip
    def peek(key)
      before = @trips
      get(key)
    ensure
      @trips = before
    end

    # Registers both variants as backends.
    #
    # @return [void]
    def self.register
      { "far" => true, "far-unmounted" => false }.each do |scheme, local_cache|
        place = Module.new
        place.define_singleton_method(:option_names) { [] }
        place.define_singleton_method(:build) { |*| FarMemory.new(local_cache: local_cache) }
        Tiercel::Backends::REGISTRY.register(scheme) { place }
      end
    end
  end
end
