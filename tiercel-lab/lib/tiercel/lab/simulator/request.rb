# frozen_string_literal: true

module Tiercel
  module Lab
    module Simulator
      # One request of a trace.
      #
      # @!attribute key [String]
      # @!attribute bytes [Integer] size of the value
      # @!attribute op [Symbol] :read (look-aside: a miss is followed by a write of the same value),
      #   :write or :delete
      # @!attribute ttl [Numeric, nil] seconds; nil: the value does not expire
      Request = Struct.new(:key, :bytes, :op, :ttl) do
        # @param key [String]
        # @param bytes [Integer]
        # @return [Request]
        def self.read(key, bytes, ttl = nil) = new(key, bytes, :read, ttl)

        # @param key [String]
        # @param bytes [Integer]
        # @return [Request]
        def self.write(key, bytes, ttl = nil) = new(key, bytes, :write, ttl)

        # @param key [String]
        # @return [Request]
        def self.delete(key) = new(key, 0, :delete, nil)
      end
    end
  end
end
