# frozen_string_literal: true

require "digest"

module Tiercel
  module Lab
    # Objects to be cached: made anew in every worker from a seed, so the same seed is the same workload everywhere.
    #
    # @abstract Subclasses implement {#generate}.
    class Value
      # @return [String] as the command line takes it ("html-2kb")
      attr_reader :name
      # @return [String] for people ("2 KB of HTML")
      attr_reader :title
      # @return [Integer] how many different objects (and names) a cell goes through
      attr_reader :count

      # @param name [String]
      # @param title [String]
      # @param count [Integer]
      def initialize(name:, title:, count: 100)
        @name = name
        @title = title
        @count = count
      end

      # @param seed [Integer]
      # @return [Array<Object>] {#count} objects, all different
      def generate(seed) = raise(NotImplementedError)

      # @param expected [Object] one of {#generate}
      # @param found [Object, nil] what a store returned for it
      # @return [Boolean]
      def same?(expected, found) = expected == found

      # @return [Integer] a rough size of one object's payload, for sizing stores and plans
      def approximate_bytes = raise(NotImplementedError)

      # @return [Boolean] whether 100 at a time make no sense
      def large? = approximate_bytes > 100 * 1024

      # @param objects [Array<Object>]
      # @return [String] hex SHA-256 of their content, which says whether two runs had the same workload
      def digest(objects) = Digest::SHA256.hexdigest(Marshal.dump(objects))

      # @return [Hash{String => Object}] what a worker needs to make the same value
      def to_spec = { "name" => name }

      # @return [Hash{String => Object}] for the results
      def describe = { "name" => name, "title" => title, "objects" => count }
    end
  end
end
