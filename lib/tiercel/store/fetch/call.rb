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
      # One missed key of a `fetch` or `fetch_multi`. A call decides whether given bytes are the value that the caller
      # wants, and contains the block that computes it.
      #
      # @private
      class Call
        include Stale

        # The namespace that a Proc returned when the call began, and the Proc, which subscribers receive. In the thread
        # that stores the value, the Proc may return another namespace.
        OneNamespace = Struct.new(:proc, :call)

        # @return [Object] the name, as the caller passed it
        attr_reader :name
        # @return [String]
        attr_reader :key
        # @return [String, nil]
        attr_reader :version
        # @return [FetchPolicy]
        attr_reader :policy
        # @return [String, nil] the unusable bytes that the caller's read has found
        attr_reader :found
        # @return [Leases::Lease, nil] the lease that the caller's read has found
        attr_reader :seen
        # @return [Hash] merged options
        attr_reader :options
        # @return [Trace, nil] details for the events; nil without details
        attr_reader :trace
        # @return [Boolean] whether the caller's read may have followed an invalidation that the leader's acquire
        #   preceded
        attr_accessor :late
        # @return [Proc, nil] see {Fetch#fetch_missing}
        attr_writer :storing

        # @param store [ActiveSupport::Cache::TiercelStore] provides {Misses#run_block} and {Misses#store_value}
        # @param settings [Settings]
        # @param options [Hash] merged options
        # @param found [Accessor::Found, nil] the unusable entry that the caller's read has found
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

        # @return [Tags::Named, nil] the caller's tags, with their generations from before the block
        def tags = @options[:tags]&.tap { |tags| @settings.generations.fix(tags) }

        # @return [Object] the version and the tags; callers share a block only if these are equal
        def wanted = (tags = self.tags) ? [@version, tags.known] : @version

        # Reads the generations of the tags again, because an invalidation may have happened while the call waited.
        #
        # @return [Boolean] whether a tag was invalidated
        def renew_tags
          before = @options[:tags] or return false
          @options = @options.merge(tags: before.anew)
          tags.known != before.known
        end

        # @param others [Tags::Named, nil] the tags of a block that this call has waited for
        # @return [Boolean] whether this call may return that block's value
        def accepts?(others)
          return true if others.nil?
          return false if others.lost?
          known = others.known
          @options[:tags]&.known == known || known.nil? || @settings.generations.current?(known)
        end

        # --- the lease ---

        # Returns the entry that the read has found, once. The first acquire uses it and saves a trip.
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

        # Called when this call has the lease and its block is about to run.
        #
        # @param lease [Leases::Lease]
        # @return [void]
        def begin_with(lease)
          report_takeover if lease.takeover?
          remember(lease.stale)
          trace!.reason = :stale if lease.stale && @policy.stale_seconds
        end

        # Releases a lease without storing a value.
        #
        # @param lease [Leases::Lease, nil]
        # @return [void]
        def release(lease) = lease && @settings.leases.release(lease, stale_ttl:)

        # Limits displacements. Versions have no order, so two versions must not displace each other repeatedly.
        #
        # @return [Boolean] whether no caller of this process has lately displaced a lease for this version of the key,
        #   nor waited for a lease of this version
        def begin_displacing = @settings.displacements.begin("#{kept_version}\0#{@key.b}".b, @policy.lease_ttl * 2)

        # @return [Boolean] whether the caller needs no new value
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

        # @return [String, nil] the description of the wanted value in a lease: the version, and a digest of the tags
        #   with their generations
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
        # @return [Object] the block's value
        def compute
          @computed = true
          @given = Tags::WriteOptions.new(@options.dup, @store)
          Observer.timed(@key) { @block.call(@name, @given) }
        end

        # Runs the block inside its event, and stores its value under the lease.
        #
        # @param lease [Leases::Lease, nil] nil if nothing may be stored
        # @param flight [Flight] the flight that computes the value
        # @return [Array(Object, Boolean)] the value, and whether it was stored
        def compute_and_store(lease, flight)
          value = @store.run_block(@name, @key, @trace ? { **@options, **@trace.of_block } : @options) { compute }
          flight.tags = used_tags
          return [value, store(value, lease, flight)] unless @storing
          stored = false
          @storing.call { stored = store(value, lease, flight) }
          [value, stored]
        end

        # @return [Tags::Named, nil] the tags of the block's value
        def used_tags = @given ? @given.named : @options[:tags]

        # @return [Hash] the options after the block, which may have set some
        def used_options = @given ? @given.options : @options

        # @return [Boolean] whether the block has run
        def computed? = @computed || false

        # @return [Trace]
        def trace! = @trace ||= Trace.new

        # @param bytes [String, nil] the bytes that a read would now return
        # @return [void]
        def remember(bytes) = @settings.reader.remember(@key, bytes)

        # @param (see Reader#copy)
        # @return (see Reader#copy)
        def copy(value) = @settings.reader.copy(value)

        # @param (see Reader#value_of_copy)
        # @return (see Reader#value_of_copy)
        def value_of_copy(frame) = @settings.reader.value_of_copy(frame)

        private

        def store(value, lease, flight)
          @store.store_value(value, lease, flight, @name, @version, @options, @given.options, @policy)
        end

        def in_one_namespace(options)
          namespace = options[:namespace]
          return options unless namespace.respond_to?(:call)
          options.merge(namespace: OneNamespace.new(namespace, namespace.call))
        end

        # Warns that another holder has not stored a value in time.
        def report_takeover
          trace!.takeover = true
          @settings.fetch_warnings.takeover(@key, @policy.lease_ttl)
        end

        def entry_of(bytes)
          entry = bytes && @settings.reader.entry(bytes, key: @key, raw: @options[:raw], compare: false)
          entry if entry && (entry.expired? || !outdated?(entry))
        end

        # Compares an entry's tags with the generations that this call has already read, which needs no trip.
        def outdated?(entry)
          recorded = @settings.reader.recorded_tags(entry) or return false
          known = @options[:tags]&.known
          return false if known && recorded.all? { |key, generation| known[key] == generation }
          @settings.reader.outdated?(entry)
        end

        # Implements Rails' race_condition_ttl: extends an expired entry by this many seconds.
        def longer(entry, race_ttl)
          entry.expires_at = Clock.now + race_ttl
          @settings.writer.frame_of_entry(entry, @options[:compress], @options[:compress_threshold])
        end
      end
    end
  end
end
