# frozen_string_literal: true

require "digest"

require_relative "../../coder"
require_relative "../../frame"
require_relative "../../leases"
require_relative "../tags/write_options"
require_relative "stale"
require_relative "trace"

module Tiercel
  module Store
    module Fetch
      # One key of a `fetch` or `fetch_multi` that has missed: the value that the caller wants, whether given bytes are
      # that value, and the block that computes it.
      #
      # @private
      class Call
        include Stale

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
        # @return [String, nil] bytes that the caller's read has found, and that are not the value
        attr_reader :found
        # @return [Leases::Lease, nil] the lease that the caller's read has found
        attr_reader :seen
        # @return [Hash] merged
        attr_reader :options
        # @return [Trace, nil] for the events, where there is something to say
        attr_reader :trace
        # @return [Boolean] whether the caller may have read after an invalidation that came after the leader's acquire
        attr_accessor :late

        # @param store [ActiveSupport::Cache::TiercelStore] whose {Misses#run_block} and {Misses#store_value} it calls
        # @param settings [Settings]
        # @param options [Hash] merged
        # @param found [Accessor::Found, nil] what the caller's read has found, and that is not the value
        def initialize(store, settings, name, key, version, options, policy, found: nil, &block)
          @store = store
          @settings = settings
          @name = name
          @key = key
          @version = version
          @options = in_one_namespace(options)
          @policy = policy
          if found
            @found = found.bytes
            @seen = settings.leases.seen(key, @found)
            @shown = Leases::Present.new(@found, found.token) if found.token && @seen.nil?
          end
          @block = block
        end

        # @return [String, nil] the lineage of the lease that the caller's read has found
        def lineage = @seen&.lineage

        # @return [Tags::Named, nil] that the caller has named, with the generations that they had before its block
        def tags = @options[:tags]&.tap { |tags| @settings.generations.fix(tags) }

        # @return [Object] the version and the tags: callers that want the same may share a block
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

        # --- the lease ---

        # The first acquire begins with the bytes that the read has found, which saves a trip.
        #
        # @return [Leases::Present, nil]
        def take_shown
          shown = @shown
          @shown = nil
          shown
        end

        # @param shown [Leases::Present, nil] see {Leases#take}
        # @param displaces [String, nil] see {Leases#take}
        # @return [Leases::Lease, Leases::Present] see {Leases#take}
        def acquire(shown: nil, displaces: nil)
          @settings.leases.take(@key, @policy.lease_ttl, version: kept_version, shown:, displaces:) do |bytes|
            verdict(bytes)
          end
        end

        # The lease is this call's, and its block is about to run.
        #
        # @param lease [Leases::Lease]
        # @return [void]
        def begin_with(lease)
          report_takeover if lease.takeover?
          remember(lease.stale)
          trace!.reason = :stale if lease.stale && @policy.stale_seconds
        end

        # Releases a lease under which nothing is stored.
        #
        # @param lease [Leases::Lease, nil]
        # @return [void]
        def release(lease) = lease && @settings.leases.release(lease, stale_ttl:)

        # Versions have no order, so two of them must not displace each other again and again.
        #
        # @return [Boolean] whether no caller of this process has lately displaced a lease for this version of the key,
        #   nor waited for a lease of this version
        def begin_displacing = @settings.displacements.begin("#{kept_version}\0#{@key.b}".b, @policy.lease_ttl * 2)

        # @return [Boolean] whether the caller can do without a new value
        def optional? = false

        # The value that plain reads return during the computation: see {Leases#take}.
        #
        # @param bytes [String]
        # @return [Symbol, String, nil]
        def verdict(bytes)
          entry = entry_of(bytes) or return
          return (entry.mismatched?(@version) ? bytes : :current) unless entry.expired?
          race_ttl = @options[:race_condition_ttl].to_i
          return longer(entry, race_ttl) if race_ttl.positive? && Clock.now - entry.expires_at <= race_ttl
          bytes if entry.is_a?(Coder::LazyEntry) && usable_stale?(entry, true) && !outdated?(entry)
        end

        # @return [String, nil] what a lease keeps of the wanted value: the version, and a digest of the tags and their
        #   generations
        def kept_version
          version = @version && Frame::Version.kept(@version)
          tags = self.tags or return version
          Frame::Version.kept("tags:#{Digest::SHA256.hexdigest(tags.known.sort.join("\0"))}:#{version}")
        end

        # --- the value ---

        # @param bytes [String, nil]
        # @return [Object] the value, if a read would return it; else MISS
        def value_of(bytes)
          entry = entry_of(bytes)
          entry.nil? || entry.expired? || entry.mismatched?(@version) ? MISS : entry.value
        end

        # Runs the block.
        #
        # @return [Object] its value
        def compute
          @computed = true
          @given = Tags::WriteOptions.new(@options.dup, @store)
          @settings.account.timed(@key) { @block.call(@name, @given) }
        end

        # Runs the block within its event, and stores its value under the lease.
        #
        # @param lease [Leases::Lease, nil] nil where nothing may be stored
        # @param flight [Flight] in which it is computed
        # @return [Array(Object, Boolean)] the value, and whether it is stored
        def compute_and_store(lease, flight)
          value = @store.run_block(@name, @key, @trace ? { **@options, **@trace.of_block } : @options) { compute }
          flight.tags = used_tags
          [value, @store.store_value(value, lease, flight, @name, @version, @options, @given.options, @policy)]
        end

        # @return [Tags::Named, nil] of the block's value
        def used_tags = @given ? @given.named : @options[:tags]

        # @return [Boolean] whether its block has run
        def computed? = @computed || false

        # @return [Trace]
        def trace! = @trace ||= Trace.new

        # @param bytes [String, nil] what a read would now see
        # @return [void]
        def remember(bytes) = @settings.reader.remember(@key, bytes)

        # @param (see Reader#copy)
        # @return (see Reader#copy)
        def copy(value) = @settings.reader.copy(value)

        # @param (see Reader#value_of_copy)
        # @return (see Reader#value_of_copy)
        def value_of_copy(frame) = @settings.reader.value_of_copy(frame)

        private

        def in_one_namespace(options)
          namespace = options[:namespace]
          return options unless namespace.respond_to?(:call)
          options.merge(namespace: OneNamespace.new(namespace, namespace.call))
        end

        # Another holder has not stored a value in time.
        def report_takeover
          @settings.account.count(:lease_takeovers)
          trace!.takeover = true
          @settings.fetch_warnings.takeover(@key, @policy.lease_ttl)
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

        # Rails' race_condition_ttl: what has expired lives for so many seconds more.
        def longer(entry, race_ttl)
          entry.expires_at = Clock.now + race_ttl
          @settings.writer.frame_of_entry(entry, @options[:compress], @options[:compress_threshold])
        end
      end
    end
  end
end
