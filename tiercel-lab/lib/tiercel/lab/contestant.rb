# frozen_string_literal: true

require_relative "errors"
require_relative "store_options"

module Tiercel
  module Lab
    # A store that takes part: what it is called, what it needs, and how it is
    # built in a worker process.
    #
    # Written as `TYPE[:PLACE][#OPTION=VALUE,...]`:
    #
    #   memory_store
    #   mem_cache_store#compress=false
    #   file_store:/mnt/nfs/cache
    #   tiercel:redis://cache:6379/0#serializer=:message_pack
    #
    # The parent process parses it to plan and to start servers; the worker
    # parses the same text again and builds. So a contestant's file is loaded
    # in both, and loads the gems it needs in {#build} alone.
    #
    # @abstract Subclasses say their `TYPE` and implement {#build}; the rest has defaults.
    class Contestant
      # @return [String] the text it was parsed from: what a worker is given
      attr_reader :text
      # @return [String] what rows are called
      attr_reader :name
      # @return [String] what follows the type's colon; "" if nothing does
      attr_reader :place
      # @return [Hash{Symbol => Object}] of the store
      attr_reader :options

      # @param text [String]
      # @param name [String]
      # @param place [String]
      # @param options [Hash{Symbol => Object}]
      def initialize(text:, name: text, place: "", options: {})
        @text = text
        @name = name
        @place = place
        @options = options
      end

      # @return [Symbol] what it builds: :store answers to Rails' cache API; operations say which kind they time
      def kind = :store

      # @return [Symbol] :process, :loopback, :disk or :remote: whose noise it has
      def medium = :process

      # The clock that its cells are timed by: what never waits is timed by the CPU time of its process, because the
      # wall clock also counts what other programs took meanwhile; what waits for a server or a disk, by the wall
      # clock. Both are recorded.
      #
      # @return [Symbol] :cpu or :wall
      def clock = medium == :process ? :cpu : :wall

      # @return [Array<String>] gems that {#build} requires
      def gems = []

      # @return [Array<Symbol>] servers that the lab starts for it: :memcached, :redis, :redis_cluster
      def servers = []

      # @return [String, nil] name of a gemfile in the lab's gemfiles/, or a path; contestants of one bundle are arms of
      #   one process. nil: the bundle that the lab runs in.
      def bundle = nil

      # @return [Boolean] false for one that keeps nothing: its reads are not verified and not compared as hits
      def keeps? = true

      # Whether the place is the user's own: names get a prefix and are deleted one by one, nothing is cleared.
      #
      # @return [Boolean]
      def foreign? = false

      # @param context [Runner::Context] servers, folders and limits
      # @return [Object] the subject
      def build(context) = raise(NotImplementedError)

      # Gives back what {#build} took. What is not the arm's alone (a server, a place of the user's) is not cleared.
      #
      # @param subject [Object]
      # @param names [Array<Object>] that it may hold
      # @return [void]
      def tear_down(subject, names)
        return subject.delete_multi(names) if foreign? || servers.any?
        subject.clear if subject.respond_to?(:clear)
      end

      # @param subject [Object]
      # @param _name [String] that `value` was written under
      # @param value [Object]
      # @return [Integer, nil] bytes that are kept for the value, without the medium's own overhead; nil if unknown
      def stored_bytes(subject, _name, value)
        return nil unless kind == :store
        merged = subject.send(:merged_options, nil)
        payload = subject.send(:serialize_entry, ActiveSupport::Cache::Entry.new(value), **merged)
        payload.bytesize
      end

      # @return [String, nil] what to write into an application's configuration to get it
      def configuration = nil

      # @return [Hash{String => Object}] for the results
      def describe
        { "text" => text, "name" => name, "medium" => medium.to_s, "bundle" => bundle, "gems" => gems,
          "servers" => servers.map(&:to_s), **(keeps? ? {} : { "keeps" => false }) }
      end

      private

      def configuration_line(*words)
        words += options.map { |key, value| "#{key}: #{value.inspect}" }
        "config.cache_store = #{words.join(", ")}"
      end
    end
  end
end
