# frozen_string_literal: true

require_relative "../errors"

module Tiercel
  module Lab
    # A store that takes part: what it is called, what it needs, and how it is built in a worker process.
    #
    # Written as `TYPE[:PLACE][#OPTION=VALUE,...]`:
    #
    #   memory_store
    #   mem_cache_store#compress=false
    #   file_store:/mnt/nfs/cache
    #   tiercel:redis://cache:6379/0#serializer=:message_pack
    #
    # The parent process parses it to plan and to start servers; the worker parses the same text again and builds. So a
    # contestant's file is loaded in both, and loads the gems it needs in {#build} alone.
    #
    # @abstract Subclasses implement {#build}; {Contestants.define} declares the rest.
    class Contestant
      # Defaults of a contestant, which its declaration may override:
      #
      # - `kind`: what it builds; :store answers to Rails' cache API, operations say which kind they time
      # - `medium`: :process, :loopback, :disk or :remote: whose noise it has
      # - `gems`: those that {#build} requires
      # - `servers`: those that the lab starts for it (:memcached, :redis, ...)
      # - `bundle`: a gemfile of the lab's gemfiles/, or its path; contestants of one bundle are arms of one process;
      #   nil: the bundle that the lab runs in
      # - `keeps?`: false for one that keeps nothing: its reads are not verified and not compared as hits
      # - `foreign?`: whether the place is the user's own: names get a prefix and are deleted one by one
      # - `tiers`: URLs, nearest first; reads of several fill the nearer ones, and are warm once all keys are there
      # - `internal?`: not offered by help
      # - `places`: what may follow the type's colon ("": nothing); nil: anything
      FACTS = { kind: :store, medium: :process, gems: [], servers: [], bundle: nil, keeps?: true, foreign?: false,
                tiers: [], internal?: false, places: nil }.freeze

      # @param facts [Hash{Symbol => Object}] of {FACTS}
      def self.facts(facts) = facts.each { |name, fact| define_method(name) { fact } }

      facts(FACTS)

      # @return [String] the text it was parsed from: what a worker is given
      attr_reader :text
      # @return [String] what rows are called
      attr_reader :name
      # @return [String] what follows the type's colon; "" if nothing does
      attr_reader :place
      # @return [Hash{Symbol => Object}] of the store
      attr_reader :options

      def initialize(text:, name: text, place: "", options: {})
        @text = text
        @name = name
        @place = place
        @options = options
        check
      end

      # The clock that its cells are timed by: what never waits is timed by the CPU time of its process, because the
      # wall clock also counts what other programs took meanwhile; what waits for a server or a disk, by the wall
      # clock. Both are recorded.
      #
      # @return [Symbol] :cpu or :wall
      def clock = medium == :process ? :cpu : :wall

      # Refuses an impossible place when the text is parsed, so a run can build whatever a plan accepts.
      #
      # @raise [UsageError]
      def check
        return if places.nil? || places.include?(place)
        type = text[/\A(?:[\w.-]+=)?(\w+)/, 1]
        forms = places.map { |known| known.empty? ? type : "#{type}:#{known}" }
        raise UsageError, "store #{text.inspect}: expected #{forms.join(" or ")}"
      end

      # @param context [Engine::Context] servers, folders and limits
      # @return [Object] the subject
      def build(context) = raise(NotImplementedError)

      # Waits for what works beside calls to have begun, before anything is filled.
      #
      # @return [void]
      def settle(_subject) = nil

      # Around writes of so many names, before anything is read or timed.
      #
      # @param _names [Integer]
      # @return [Object] what the block returned
      def filling(_subject, _names) = yield

      # Gives back what {#build} took. What is not the arm's alone (a server, a place of the user's) is not cleared.
      #
      # @param names [Array<Object>] that it may hold
      def tear_down(subject, names)
        return subject.delete_multi(names) if foreign? || servers.any?
        subject.clear if subject.respond_to?(:clear)
      end

      # @param _name [String] that `value` was written under
      # @return [Integer, nil] bytes that are kept for the value, without the medium's own overhead; nil if unknown
      def stored_bytes(subject, _name, value)
        return nil unless kind == :store && subject.respond_to?(:serialize_entry, true)
        merged = subject.send(:merged_options, nil)
        subject.send(:serialize_entry, ActiveSupport::Cache::Entry.new(value), **merged).bytesize
      end

      # @return [String, nil] what to write into an application's configuration to get it
      def configuration = nil

      # @return [Hash{String => Object}] for the results
      def describe
        line = configuration
        { "text" => text, "name" => name, "medium" => medium.to_s, "bundle" => bundle, "gems" => gems,
          "servers" => servers.map(&:to_s), **(keeps? ? {} : { "keeps" => false }),
          **(line ? { "configuration" => line } : {}) }
      end

      # Requires what {#build} needs.
      #
      # @raise [CannotRun]
      def load_gems
        gems.each { |gem| Contestant.load_gem(gem) }
      end

      # @raise [CannotRun] with what to type
      def self.load_gem(feature)
        require feature
      rescue LoadError => e
        raise CannotRun, "gem #{feature} is not in the bundle: add gem #{feature.inspect} to the Gemfile " \
                         "(#{e.message})"
      end

      private

      def configuration_line(*words)
        words += options.map { |key, value| "#{key}: #{value.inspect}" }
        "config.cache_store = #{words.join(", ")}"
      end
    end
  end
end
