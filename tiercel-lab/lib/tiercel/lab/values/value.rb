# frozen_string_literal: true

require "digest"

module Tiercel
  module Lab
    # Objects to cache. Every worker generates them from a seed, so the same seed gives the same workload everywhere.
    #
    # @abstract Subclasses implement {#generate}.
    class Value
      # @return [String] name on the command line ("html-2kb")
      attr_reader :name
      # @return [String] title in reports ("2 KB of HTML")
      attr_reader :title
      # @return [Integer] number of different objects, and of names
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

      # @param expected [Object] one of the objects of {#generate}
      # @param found [Object, nil] the object that a store returned for it
      # @return [Boolean]
      def same?(expected, found) = expected == found

      # @return [Integer] approximate size of one object's payload, for store sizes and plans
      def approximate_bytes = raise(NotImplementedError)

      # @return [Boolean] whether it is too large for calls with 100 values
      def large? = approximate_bytes > 100 * 1024

      # @param objects [Array<Object>]
      # @return [String] hexadecimal SHA-256 of the content; equal for runs with the same workload
      def digest(objects) = Digest::SHA256.hexdigest(Marshal.dump(objects))

      # @return [Hash{String => Object}] arguments for a worker to make the same value
      def to_spec = { "name" => name }

      # @return [Hash{String => Object}] the form of the results file
      def describe = { "name" => name, "title" => title, "objects" => count }
    end
  end
end
