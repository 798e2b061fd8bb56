# frozen_string_literal: true

require "digest"

require_relative "../../coder"
require_relative "../../deep_freeze"
require_relative "../../frame"
require_relative "../../leases"
require_relative "../tags/write_options"
require_relative "../writer"
require_relative "trace"

module Tiercel
  module Store
    module Fetch
      # One call of `fetch` that has missed: what is wanted, what bytes are worth to it, its block, and how what the
      # block gives is stored.
      #
      # @private
      class Call
        MISS = Coder::MISS

        # The answer of a namespace's Proc when the call began, and the Proc, which subscribers receive. A Proc
        # may answer otherwise in the thread that stores the value.
        OneNamespace = Struct.new(:proc, :call)

        # @return [Object] as it was passed
        attr_reader :name
        # @return [String]
        attr_reader :key
        # @return [String, nil]
        attr_reader :version
        # @return [FetchPolicy]
        attr_reader :policy
        # @return [String, nil] what the caller's read has found that was no value
        attr_reader :found
        # @return [Object, nil] its token, where the read gave one
        attr_reader :token
        # @return [Hash] merged
        attr_reader :options
        # @return [Trace, nil] what it went through, if that is worth telling
        attr_reader :trace

        # @param store [ActiveSupport::Cache::TiercelStore] whose {Fetch#run_block} and {Fetch#store_result} it calls
        # @param settings [Settings]
        # @param options [Hash] merged
        # @param found [Accessor::Found, nil] what the caller's read has found that was no value
        def initialize(store, settings, name, key, version, options, policy, found: nil, &block)
          @store = store
          @settings = settings
          @name = name
          @key = key
          @version = version
          @options = in_one_namespace(options)
          @policy = policy
          @found = found&.bytes
          @token = found&.token
          @block = block
        end

        # @return [Tags::Named, nil] that the caller has named, with the generations that they had before its block
        def tags = @options[:tags]&.tap { |tags| @settings.generations.fix(tags) }

        # @return [Object] what is wanted: with whom this call may share a block
        def wanted = (tags = self.tags) ? [@version, tags.known] : @version

        # Tags may have been invalidated while the call waited.
        #
        # @return [Boolean] whether they were
        def renew_tags
          before = @options[:tags] or return false
          @options = @options.merge(tags: before.anew)
          tags.known != before.known
        end

        # @param others [Tags::Named, nil] of a block that this call has waited for
        # @return [Boolean] whether a value of that block may be this call's
        def accepts?(others)
          return true if others.nil?
          return false if others.lost?
          known = others.known
          @options[:tags]&.known == known || known.nil? || @settings.generations.current?(known)
        end

        # @param bytes [String, nil]
        # @return [Object] the value, if it is what a read would give; else MISS
        def value_of(bytes)
          entry = entry_of(bytes)
          entry.nil? || entry.expired? || entry.mismatched?(@version) ? MISS : entry.value
        end

        # @param bytes [String, nil]
        # @param after_error [Boolean] whether it is asked for because a block raised
        # @return [Object] the value, if it has expired and may be served all the same; else MISS
        def stale_value_of(bytes, after_error: false)
          entry = entry_of(bytes) or return MISS
          return MISS unless entry.is_a?(Coder::LazyEntry) && useful?(entry, after_error)
          return MISS if entry.mismatched?(@version) || outdated?(entry)
          DeepFreeze.call(entry.value) if @settings.frozen_values
          entry.value
        rescue ActiveSupport::Cache::DeserializationError
          MISS
        end

        # The value that plain reads see during the computation: see {Leases#take}.
        #
        # @param bytes [String]
        # @return [Symbol, String, nil]
        def verdict(bytes)
          entry = entry_of(bytes) or return
          return (entry.mismatched?(@version) ? bytes : :current) unless entry.expired?
          race_ttl = @options[:race_condition_ttl].to_i
          return longer(entry, race_ttl) if race_ttl.positive? && Clock.now - entry.expires_at <= race_ttl
          bytes if entry.is_a?(Coder::LazyEntry) && useful?(entry, true) && !outdated?(entry)
        end

        # @return [Trace]
        def trace! = @trace ||= Trace.new

        # @return [Boolean] whether its block has run
        def computed? = @computed || false

        # Runs the block.
        #
        # @return [Object] its value
        def compute
          @computed = true
          @given = Tags::WriteOptions.new(@options.dup, @store)
          @settings.account.timed(@key) { @block.call(@name, @given) }
        end

        # Runs the block within its event, and stores what it gives in the place of the lease.
        #
        # @param lease [Leases::Lease, nil] nil where nothing may be stored
        # @param flight [Flight] in which it is computed
        # @return [Array(Object, Boolean)] the value, and whether it is stored
        def compute_and_store(lease, flight)
          value = @store.run_block(@name, @key, @trace ? { **@options, **@trace.of_block } : @options) { compute }
          flight.tags = used_tags
          result = Result.new(@name, value, @version, @options, @given.options, @policy)
          [value, @store.store_result(result, lease, flight)]
        end

        # @return [Tags::Named, nil] those of what the block has given
        def used_tags = @given ? @given.named : @options[:tags]

        # @param bytes [String, nil] what a read would now see
        # @return [void]
        def remember(bytes) = @settings.reader.remember(@key, bytes)

        # @return [String, nil] of what is wanted, what a lease keeps: the version, as a frame does, and a digest of
        #   the tags and their generations
        def kept_version
          version = @version && Frame::Version.kept(@version)
          tags = self.tags or return version
          Frame::Version.kept("tags:#{Digest::SHA256.hexdigest(tags.known.sort.join("\0"))}:#{version}")
        end

        # @return [Float] seconds for which a stale value is kept with a lease that was given back
        def stale_ttl = Writer::RACE_CONDITION_GRACE + (@policy.stale_seconds || 0)

        # @param (see Reader#copy)
        # @return (see Reader#copy)
        def copy(value) = @settings.reader.copy(value)

        # @param (see Reader#value_of_copy)
        # @return (see Reader#value_of_copy)
        def value_of_copy(frame) = @settings.reader.value_of_copy(frame)

        # @param bytes [String] of an expired value
        # @return [Boolean] whether it is to be served in the place of an error
        def error_covered?(bytes)
          entry = entry_of(bytes)
          entry.is_a?(Coder::LazyEntry) && (entry.frame.parts.stale&.last || 0) > Clock.now
        end

        private

        def in_one_namespace(options)
          namespace = options[:namespace]
          return options unless namespace.respond_to?(:call)
          options.merge(namespace: OneNamespace.new(namespace, namespace.call))
        end

        def entry_of(bytes)
          entry = bytes && @settings.reader.entry(bytes, key: @key, raw: @options[:raw], compare: false)
          entry if entry && (entry.expired? || !outdated?(entry))
        end

        # An entry with the generations that this call has read itself needs no other look.
        def outdated?(entry)
          recorded = @settings.reader.recorded_tags(entry) or return false
          known = @options[:tags]&.known
          return false if known && recorded.all? { |key, generation| known[key] == generation }
          @settings.reader.outdated?(entry)
        end

        def useful?(entry, after_error)
          revalidate_until, error_until = entry.frame.parts.stale
          return false unless revalidate_until
          (after_error ? [revalidate_until, error_until].max : revalidate_until) > Clock.now
        end

        # Rails' race_condition_ttl: what has expired lives for so many seconds more.
        def longer(entry, race_ttl)
          entry.expires_at = Clock.now + race_ttl
          @settings.writer.frame_of_entry(entry, @options[:compress], @options[:compress_threshold])
        end
      end
    end
  end
end
