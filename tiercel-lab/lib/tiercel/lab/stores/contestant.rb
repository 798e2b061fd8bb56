# frozen_string_literal: true

require_relative "../errors"

module Tiercel
  module Lab
    # A store that takes part in a comparison: its name, its requirements, and how a worker process builds it.
    #
    # Its text is `TYPE[:PLACE][#OPTION=VALUE,...]`:
    #
    #   memory_store
    #   mem_cache_store#compress=false
    #   file_store:/mnt/nfs/cache
    #   tiercel:redis://cache:6379/0#serializer=:message_pack
    #
    # The parent process parses the text to plan and to start servers. The worker parses the same text again and builds
    # the store. A contestant's file is therefore loaded in both processes, and requires its gems in {#build} only.
    #
    # @abstract Subclasses implement {#build}; {Contestants.define} declares the rest.
    class Contestant
      # Defaults, which a declaration may override:
      #
      # - `kind`: the kind of object that it builds; :store is one with Rails' cache API. Operations name the kind that
      #   they time
      # - `medium`: :process, :loopback, :disk or :remote; decides margin and noise floor
      # - `gems`: gems for {#build}
      # - `servers`: servers that the lab starts for it (:memcached, :redis, ...)
      # - `bundle`: a gemfile of the lab's gemfiles/, or its path; contestants with the same bundle share a worker; nil:
      #   the lab's bundle
      # - `keeps?`: false for a store that keeps nothing; its reads are not verified, and do not compare as hits
      # - `foreign?`: whether it uses the user's server or folder; its names have a prefix, and are deleted one by one
      # - `tiers`: URLs, nearest first; with several, a store is warm when its near tiers have all keys
      # - `internal?`: whether help leaves it out
      # - `places`: allowed words after the type's colon ("": none); nil: any
      FACTS = { kind: :store, medium: :process, gems: [], servers: [], bundle: nil, keeps?: true, foreign?: false,
                tiers: [], internal?: false, places: nil }.freeze

      # @param facts [Hash{Symbol => Object}] facts with the names in {FACTS}
      def self.facts(facts) = facts.each { |name, fact| define_method(name) { fact } }

      facts(FACTS)

      # @return [String] the contestant's text
      attr_reader :text
      # @return [String] its name in tables
      attr_reader :name
      # @return [String] the part after the type's colon, or ""
      attr_reader :place
      # @return [Hash{Symbol => Object}] options of the store
      attr_reader :options

      def initialize(text:, name: text, place: "", options: {})
        @text = text
        @name = name
        @place = place
        @options = options
      end

      # The clock of its cells. A store that never waits uses the CPU time of its process, because the wall clock
      # includes the time of other programs. A store that waits for a server or a disk uses the wall clock. The results
      # contain both.
      #
      # @return [Symbol] :cpu or :wall
      def clock = medium == :process ? :cpu : :wall

      # Raises if the place is impossible. The parser calls it, so that every planned contestant can be built.
      #
      # @raise [UsageError]
      def check
        return if places.nil? || places.include?(place)
        type = text[/\A(?:[\w.-]+=)?(\w+)/, 1]
        forms = places.map { |known| known.empty? ? type : "#{type}:#{known}" }
        raise UsageError, "store #{text.inspect}: expected #{forms.join(" or ")}"
      end

      # @param context [Engine::Context] servers, folders and limits
      # @return [Object] the built store
      def build(context) = raise(NotImplementedError)

      # Waits until background work of the store has started.
      #
      # @return [void]
      def wait_until_ready(_subject) = nil

      # Wraps the writes that fill the store, before the first read.
      #
      # @param _names [Integer]
      # @return [Object] the block's value
      def filling(_subject, _names) = yield

      # Releases what {#build} acquired. On servers and in folders of the user it deletes only the arm's own names.
      #
      # @param names [Array<Object>] names that the store may contain
      def tear_down(subject, names)
        return subject.delete_multi(names) if foreign? || servers.any?
        subject.clear if subject.respond_to?(:clear)
      end

      # @param _name [String] the name of the written `value`
      # @return [Integer, nil] stored bytes of the value, without the medium's overhead; nil if unknown
      def stored_bytes(subject, _name, value)
        return nil unless kind == :store && subject.respond_to?(:serialize_entry, true)
        merged = subject.send(:merged_options, nil)
        subject.send(:serialize_entry, ActiveSupport::Cache::Entry.new(value), **merged).bytesize
      end

      # @return [String, nil] the line for an application's configuration
      def configuration = nil

      # @return [Hash{String => Object}] the form of the results file
      def describe
        line = configuration
        { "text" => text, "name" => name, "medium" => medium.to_s, "bundle" => bundle, "gems" => gems,
          "servers" => servers.map(&:to_s), **(keeps? ? {} : { "keeps" => false }),
          **(line ? { "configuration" => line } : {}) }
      end

      # Loads the libraries for {#build}. Each worker does so once, before it forks a process for each arm.
      #
      # @raise [CannotRun]
      def load_gems
        gems.each { |gem| Contestant.load_gem(gem) }
      end

      # @raise [CannotRun] with a command for the user to run
      def self.load_gem(feature)
        require feature
      rescue LoadError => e
        raise CannotRun, "gem #{feature} is not in the bundle: add gem #{feature.inspect} to the Gemfile " \
                         "(#{e.message})"
      end

      private

      # An assignment of several values takes options only in braces.
      def configuration_line(*words, **more)
        pairs = more.merge(options).map { |key, value| "#{key}: #{value.inspect}" }
        words << "{ #{pairs.join(", ")} }" if pairs.any?
        "config.cache_store = #{words.join(", ")}"
      end
    end
  end
end
