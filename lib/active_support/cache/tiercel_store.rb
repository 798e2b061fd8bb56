# frozen_string_literal: true

require "active_support"
require "active_support/cache"
require "active_support/cache/strategy/local_cache"
require "active_support/notifications"
# active_support/cache uses these files in its log lines without requiring them. Values of options may use them too.
require "active_support/core_ext/object/blank"
require "active_support/duration"
require "tiercel"

module ActiveSupport
  module Cache
    # A cache store over one of Tiercel's backends.
    #
    #   config.cache_store = :tiercel_store                                  # shared memory of this machine
    #   config.cache_store = :tiercel_store, "shared:", { size: "1GB" }
    #   config.cache_store = :tiercel_store, "redis://cache:6379/0", { pool: { size: 10 } }
    #   config.cache_store = :tiercel_store, "shared:", "sqlite:storage/cache.sqlite3"       # tiers, the near one first
    #
    # Every call begins here and takes one path:
    #
    #   read    name -> key, version -> Accessor -> guard -> backend; the Reader handles what the accessor cannot decode
    #   write   name -> key, version -> Writer -> Accessor -> guard -> backend
    #   fetch   as a read; on a miss Fetch: acquire the lease -> run the block -> store the value under the lease
    #
    # Without encryption, the accessor reads and writes a segment's values directly, and calls the guard only for
    # failures.
    #
    # These calls merge no options, if the store has none of {SLOW_OPTIONS} and no subscriber or logger listens:
    #
    # - `read` and `fetch` with no options, or only with `expires_in`, `race_condition_ttl`, `skip_nil: true`,
    #   `version`, `namespace`, and, if the accessor compares tags (segments and tiers), `tags`
    # - `write` with no options, or only with `expires_in`, in a store that serves no stale values
    # - `delete` and `exist?` with no options
    #
    # Other calls of one name merge their options and run inside Rails' `instrument`. Reads of this kind, and reads of
    # several names, enter the Reader. The result is the same.
    #
    # Rails' own methods (`super`) run over {Tiercel::Store::Hooks} in two cases: the store has a `coder:` of its own,
    # or other code has patched a method that Tiercel would bypass. `fetch` then takes no leases, and the log says so
    # once.
    class TiercelStore < Store
      autoload :Shareable, "active_support/cache/tiercel_store/shareable"

      # Rails checks this method before it uses the cache versions of records.
      #
      # @return [Boolean]
      def self.supports_cache_versioning? = true

      include ::Tiercel::Store::Hooks
      include ::Tiercel::Store::CompareAndSet

      MISS = ::Tiercel::Accessor::MISS
      Signal = ::Tiercel::Coder::Signal
      Found = ::Tiercel::Accessor::Found
      Tags = ::Tiercel::Store::Tags
      # A limit for the length of keys in bytes that no key reaches.
      ANY_BYTES = 1 << 60
      # Reads names and options in C.
      RULES = ::Tiercel::CodecExt
      # If the store itself has one of these options, every call merges its options.
      SLOW_OPTIONS = %i[raw version force expires_at unless_exist tags skip_nil].freeze
      # The classes that handle failures. The store loads them early, because a failing process may have no file
      # descriptor left, or run in a chroot.
      LOADED_FOR_FAILURES = [::Tiercel::Counter, ::Tiercel::KeyMask, ::Tiercel::OneLine, ::Tiercel::Reports,
                             ::Tiercel::Coder::LazyEntry, ::Tiercel::Leases::Placeholder,
                             ActiveSupport::ExecutionContext].freeze
      private_constant :MISS, :Signal, :Found, :Tags, :RULES, :ANY_BYTES, :SLOW_OPTIONS, :LOADED_FOR_FAILURES

      # The names of all events of a store, by operation.
      EVENTS = %i[
        read read_multi fetch_hit generate write write_multi delete delete_multi exist? increment decrement
        cas cas_multi invalidate_tags cleanup delete_matched
      ].to_h { |operation| [operation, "cache_#{operation}.active_support".freeze] }.freeze
      READ, READ_MULTI, FETCH_HIT, WRITE, DELETE, EXIST =
        EVENTS.values_at(:read, :read_multi, :fetch_hit, :write, :delete, :exist?)
      SUBSCRIPTIONS = ::Tiercel::Store::Subscriptions.new(EVENTS.values)
      # Rails 8.2 changed the form of events: their payloads contain the key instead of the name.
      RAILS_8_2 = (ActiveSupport.gem_version.segments.first(2) <=> [8, 2]) >= 0
      # Since Rails 8.0, events of several names contain their keys; on Rails 7.2 they contain the names.
      KEYS_IN_EVENTS = ActiveSupport.gem_version.segments.first >= 8
      private_constant :EVENTS, :READ, :READ_MULTI, :FETCH_HIT, :WRITE, :DELETE, :EXIST, :SUBSCRIPTIONS, :RAILS_8_2,
                       :KEYS_IN_EVENTS

      # Builds a store.
      #
      # Accepts three groups of options: the options below; the options of every Rails store (`namespace`, `expires_in`,
      # `race_condition_ttl`, `compress`, `compress_threshold`, `coder`, `skip_nil`, `max_key_size`...); and the options
      # of the backend, which its page in `docs/` lists.
      #
      # @param urls [Array<String, Symbol>] the backend's URL. Without a URL the store uses the shared memory of this
      #   machine; two URLs are a near tier and the last tier ({Tiercel::Tiers})
      # @param options [Hash]
      # @option options [Symbol, #dump] :serializer :auto, :marshal, :message_pack, :as_json, or an object with
      #   the methods dump and load
      # @option options [Symbol, #deflate, nil] :compressor :lz4, :zstd, :snappy, :brotli, :zlib, :none, or an object
      #   with the methods deflate and inflate
      # @option options [Boolean] :marshal false: the store neither dumps nor loads with Marshal, and rejects entries
      #   whose bytes name a class
      # @option options [Boolean] :checksum whether frames contain a checksum of their payload; by default all frames
      #   do, except those in memory and in SQLite
      # @option options [#call] :error_handler called as call(method:, returning:, exception:)
      # @option options [Boolean, Hash] :breaker false, or options of the {Tiercel::Breaker}
      # @option options [Boolean] :frozen true: the store returns deep-frozen values of plain types. Over `shared:` and
      #   `memory:` each process keeps decoded values that it reads again, within `memo:` (docs/memo.md)
      # @option options [Boolean] :lease false: every caller that misses computes the value. docs/fetch.md describes the
      #   other options of `fetch`
      # @raise [Tiercel::ConfigurationError] for URLs and options that cannot work
      # @raise [Tiercel::MissingDependency] if a gem is not installed
      def initialize(*urls, **options)
        ::Tiercel.refuse_other_ractors
        @configuration = ::Tiercel::Configuration.new(urls, options)
        super(@configuration.rails_options)
        @rails_coder = @coder
        open_with(build_settings)
      end

      # A copy uses the same backend, and has options of its own.
      def initialize_copy(original)
        super
        mount
      end

      # Ractor.make_shareable calls this method. A frozen store works in every Ractor (docs/shared.md).
      #
      # @raise [Tiercel::ConfigurationError] if the store cannot work in other Ractors
      def freeze
        Shareable.prepare(self, @settings, @patches) unless frozen?
        super
      end

      # --- one name ---

      # See ActiveSupport::Cache::Store#read. The `cache` helper of views passes an empty Hash, or options for the
      # write.
      def read(name, options = nil)
        return super if @patches.any
        naming = naming_options(options) if options
        if @plain && !naming.equal?(false) && !heard?(READ)
          key = key_of(name, naming)
          version = version_of(name, key, naming) unless naming.nil? && key.equal?(name)
          value = @accessor.read(key, version)
          return value unless Signal === value
          value = @reader.decide(value, key, version) if Found === value
          return Signal === value ? nil : value
        end
        options = merged_options(options)
        key = normalize_key(name, options)
        version = normalize_version(name, options)
        instrument(:read, event_key(name, key, options), options) do |event|
          value = @reader.read(key, version, options, event)
          event[:hit] = !(Signal === value)
          Signal === value ? nil : value
        end
      end

      # See ActiveSupport::Cache::Store#fetch. Additional options: docs/fetch.md and docs/tags.md.
      def fetch(name, options = nil, &)
        return super unless block_given?
        return fetch_without_leases { super } if @patches.any
        naming = naming_options(options) if options
        if @plain && !naming.equal?(false) && !heard?(READ)
          key = key_of(name, naming)
          version = version_of(name, key, naming) unless naming.nil? && key.equal?(name)
          if @fetch_in_series&.expects_miss?(key) && @settings.policy.lease
            options = merged_options(options)
            return @fetch_in_series.value(self, name, key, version, options, @settings.policy, unread: true, &)
          end
          found = @accessor.read(key, version)
          if Signal === found
            found = @reader.decide(found, key, version) if Found === found
            return miss(name, key, version, merged_options(options), @settings.policy, found, &) if Signal === found
          end
          # No logger logs, because `heard?` returned false.
          notify_of_hit(name, key, merged_options(options)) if listened?(FETCH_HIT)
          return found
        end
        options = merged_options(options)
        key = normalize_key(name, options)
        version = normalize_version(name, options)
        policy = policy_for(options)
        return generate_and_write(name, key, options, &) if options[:force]
        found = instrument(:read, event_key(name, key, options), options) do |event|
          value = @reader.read(key, version, options, event)
          event[:super_operation] = :fetch
          event[:hit] = !(Signal === value)
          value
        end
        return miss(name, key, version, options, policy, found, &) if Signal === found
        notify_of_hit(name, key, options)
        found
      end

      # Continues a `fetch` for views, which have read the name themselves, missed it, and sent Rails' own events. A
      # view cannot render in the background, after its request.
      #
      # @yield as for `fetch`
      # @return [Object] the block's value, or a value that another caller has stored since
      # @private
      def fetch_missing(name, options = nil, &)
        options = merged_options({ **options.to_h, refresh: :inline })
        return fetch(name, options, &) unless leases?(options)
        key = normalize_key(name, options)
        @settings.fetch.value(self, name, key, normalize_version(name, options), options, policy_for(options), &)
      end

      # See ActiveSupport::Cache::Store#write.
      def write(name, value, options = nil)
        return super if @patches.any
        options = nil if !options || options.empty?
        if @plain_writes && (options.nil? || only_expires_in?(options)) && !heard?(WRITE)
          key = key_of(name, nil)
          version = version_of(name, key, nil) unless key.equal?(name)
          return @writer.write_plain(key, value, version, options ? options[:expires_in] : @expires_in)
        end
        options = merged_options(options)
        key = normalize_key(name, options)
        version = normalize_version(name, options)
        instrument(:write, event_key(name, key, options), options) do
          @writer.write(key, value, version, options, policy_for(options))
        end
      end

      # See ActiveSupport::Cache::Store#delete.
      def delete(name, options = nil)
        return super if @patches.any
        return @accessor.delete(key_of(name, nil)) if (!options || options.empty?) && @plain && !heard?(DELETE)
        options = merged_options(options)
        key = normalize_key(name, options)
        instrument(:delete, event_key(name, key, options), options) { @accessor.delete(key) }
      end

      # See ActiveSupport::Cache::Store#exist?.
      def exist?(name, options = nil)
        return super if @patches.any
        if (!options || options.empty?) && @plain && !heard?(EXIST)
          key = key_of(name, nil)
          version = version_of(name, key, nil) unless key.equal?(name)
          return exists?(key, version, @options, nil)
        end
        options = merged_options(options)
        key = normalize_key(name, options)
        version = normalize_version(name, options)
        options = options.except(:delete) if options[:delete]
        instrument(:exist?, key, (options if RAILS_8_2)) { |event| exists?(key, version, options, event) }
      end

      # --- several names ---

      # See ActiveSupport::Cache::Store#read_multi.
      def read_multi(*names)
        return super if names.empty? || @patches.any
        options = names.extract_options!
        options = options.empty? ? @options : merged_options(options)
        heard = heard?(READ_MULTI)
        keys = keys_of(names, options) if KEYS_IN_EVENTS || !heard # else in the event, where Rails 7.2 rejects names
        return read_several(names, keys, versions_of(names, keys, options), options, nil) unless heard
        instrument_heard(:read_multi, names, options) do |event|
          keys ||= keys_of(names, options)
          found = read_several(names, keys, versions_of(names, keys, options), options, event)
          event[:hits] = in_event(found.keys, options)
          found
        end
      end

      # See ActiveSupport::Cache::Store#fetch_multi.
      def fetch_multi(*names, &)
        return super if !block_given? || names.empty?
        options = names.extract_options!
        options = options.empty? ? @options : merged_options(options)
        if @patches.any
          @settings.generations.fix(options[:tags]) if options[:tags] && names.any?
          return fetch_without_leases { super(*names, options, &) }
        end
        keys = keys_of(names, options) if KEYS_IN_EVENTS
        policy = policy_for(options)
        made = {}
        values = instrument_heard(:read_multi, names, options) do |event|
          keys ||= keys_of(names, options)
          versions = versions_of(names, keys, options)
          useless = {}
          found = options[:force] ? {} : read_several(names, keys, versions, options, event, useless)
          made = complete(names, keys, versions, found, useless, options, policy, &) if found.size < names.size
          event[:hits] = in_event(found.keys, options) if heard?(READ_MULTI)
          event[:super_operation] = :fetch_multi
          made.empty? ? found : names.index_with { |name| found.fetch(name) { made[name] } }
        end
        after_fetching(made, options, policy) unless made.empty?
        values
      end

      # `fetch_multi` after its read; see {#fetch_missing}.
      #
      # @yieldparam name [Object]
      # @yieldparam write_options [ActiveSupport::Cache::WriteOptions]
      # @return [Hash{Object => Object}]
      # @private
      def fetch_multi_missing(*names, &)
        options = merged_options({ **names.extract_options!, refresh: :inline })
        return names.to_h { |name| [name, fetch(name, options, &)] } unless leases?(options)
        keys = names.map { |name| normalize_key(name, options) }
        versions = names.map { |name| normalize_version(name, options) }
        policy = policy_for(options)
        made = @settings.fetch.values(self, names, keys, versions, options, policy, &)
        after_fetching(made, options, policy) unless made.empty?
        made
      end

      # See ActiveSupport::Cache::Store#write_multi.
      def write_multi(hash, options = nil)
        return super if hash.empty? || @patches.any
        options = !options || options.empty? ? @options : merged_options(options)
        instrument_heard(:write_multi, hash, options) do
          names = hash.keys
          keys = keys_of(names, options)
          next if options[:tags] && !@settings.generations.fix(options[:tags])
          policy = policy_for(options)
          versions = versions_of(names, keys, options)
          frames = {}
          hash.each_value.with_index do |value, index|
            key, version = keys[index], versions && versions[index]
            next @writer.write(key, value, version, options, policy) if options[:unless_exist]
            bytes = @writer.frame(key, value, version, options, policy, jitter: false)
            frames[key] = bytes if bytes
          end
          next true if options[:unless_exist]
          frames.empty? ? nil : @accessor.set_multi(frames, @writer.fill_ttl(options, policy))
        end
      end

      # Deletes several names.
      #
      # @param names [Array<Object>] as for `read`
      # @param options [Hash, nil] `namespace`
      # @return [Integer] number of deleted entries
      def delete_multi(names, options = nil)
        return super(names.dup, options) if @patches.any || names.empty? # Rails 8.0 changes the caller's own Array
        options = merged_options(options)
        keys = names.map { |name| normalize_key(name, options) }
        instrument_multi(:delete_multi, keys, options) { @accessor.delete_multi(keys) }
      end

      # --- counters ---

      # Increments a counter and returns the new count. An absent counter starts at `amount`; `expires_in` applies only
      # in this case. An entry with an Integer (written without `raw: true`) becomes a counter.
      #
      # @param name [Object] as for `read`
      # @param amount [Integer]
      # @param options [Hash] `expires_in`, `expires_at`, `namespace`
      # @return [Integer, nil] the new count; nil if the backend failed or the value is not a number
      def increment(name, amount = 1, options = nil, **keywords)
        count(:increment, name, ::Tiercel::Store::Counter.amount(:increment, amount), amount, options, keywords)
      end

      # Decrements a counter, otherwise like {#increment}.
      #
      # @return [Integer, nil]
      def decrement(name, amount = 1, options = nil, **keywords)
        count(:decrement, name, -::Tiercel::Store::Counter.amount(:decrement, amount), amount, options, keywords)
      end

      # @param name [Object]
      # @return [Integer, nil] the count, nil if absent
      def read_counter(name, **options) = read(name, **options, raw: true)&.to_i

      # Sets a counter. Replaces any existing entry.
      #
      # @param name [Object]
      # @param value [Integer]
      # @return [Boolean, nil] like `write`
      def write_counter(name, value, **options) = write(name, value.to_i, **options, raw: true)

      # --- tags ---

      # Makes every entry with one of these tags a miss, for all processes that use the backend. A read that begins
      # after this method has returned true never returns a value that was computed before this call. (A request that
      # has begun may still use the generation that it has read: docs/tags.md.) It takes one trip for any number of
      # entries.
      #
      # @param tags [Array<String, Symbol, Array, #cache_key>] names as for `tags:`, one argument for each; an Array is
      #   one name, as in `read`; use `invalidate_tags(*list)` for a list of tags
      # @param namespace [Hash] `namespace:`, as for `write`
      # @return [Boolean, nil] true if all are invalidated; nil if the backend failed
      # @raise [ArgumentError] for a tag that is no name
      def invalidate_tags(*tags, **namespace)
        options = merged_options(namespace)
        names = tags.map { |tag| tag_name(tag) }.uniq
        names.each { |name| Tags::Named.check([name]) }
        instrument(:invalidate_tags, nil, { tags: names, count: names.size }) do
          @settings.generations.invalidate(tag_keys(names, options[:namespace]))
        end
      end

      # Sets the tags that the block of a `fetch` chooses: reads their generations now, except those that are known
      # already.
      #
      # @param options [Hash] the options of the write
      # @private
      def retag(options, tags)
        before = options[:tags]
        named = tags && named_tags(tags, options)
        @settings.generations.fix(named) if named
        options[:tags] = named&.keep(before)
      end

      # --- the whole cache ---

      # Clears the cache. With a namespace (of the store or of this call) it deletes only the keys of the namespace.
      # Without a namespace it deletes everything in the backend, including the entries of other programs.
      #
      # @param options [Hash, nil] `namespace`
      # @return [nil]
      def clear(options = nil)
        @accessor.clear(key_prefix(merged_options(options)))
        nil
      end

      # Deletes expired entries, if the backend does not do this by itself.
      #
      # @return [Integer, nil] number of deleted entries; nil if the backend failed
      def cleanup(_options = nil)
        size = @accessor.stats(:cleanup)&.[](:entries)
        instrument(:cleanup, nil, { size: size }) { @accessor.cleanup }
      end

      # Deletes the entries whose keys match. Rails replaces the end of a key that is too long by a digest, so a pattern
      # for this end does not match.
      #
      # @param matcher [Regexp, String] a pattern for names; or a glob as in Redis
      # @param options [Hash, nil] `namespace`
      # @return [Integer, nil] number of deleted entries; nil if the backend failed
      def delete_matched(matcher, options = nil)
        options = merged_options(options)
        prefix = key_prefix(options)
        case matcher
        when Regexp
          regexp = key_matcher(matcher, options)
          pattern = ::Tiercel::KeyPattern.new(prefix, regexp)
        when String then pattern = ::Tiercel::KeyPattern.glob(prefix.to_s, matcher)
        else raise ArgumentError, "delete_matched: expected a Regexp or a glob String, got #{matcher.inspect}"
        end
        instrument(:delete_matched, regexp ? regexp.inspect : matcher) { @accessor.delete_matching(pattern) }
      end

      # Returns the backend's figures: :entries, :bytes and others, which depend on the backend. A segment counts the
      # :hits, :misses, :writes and :deletes of all its processes; a server counts those of its clients. Tiers have
      # their figures under :tiers. :failures and :breaker_openings count this process alone. tiercel-insight counts
      # every store in the same way, and measures what misses cost.
      #
      # @return [Hash{Symbol => Object}, nil] nil if the backend failed
      def stats
        figures = @accessor.stats or return
        guard = @settings.guard
        { **figures, failures: guard.failures, breaker_openings: guard.breaker_openings, **@settings.fetch.stats }
      end

      # Subscribes this process to the invalidation messages of other machines at once. Without this call, a process
      # subscribes at its first near miss. Call it in an idle process such as Puma's master, for a store with tiers over
      # Redis: this process then listens for all processes that share its `shared:` tier, even while they are busy. The
      # call does not wait, and has no effect in a process that already listens (see `stats`). A forked child has to
      # call it again.
      #
      # @return [Boolean] whether the store has a bus, which delivers these messages
      def listen = backend.listen

      # Closes the backend's connections, descriptors and threads. The next call of the store opens them again.
      #
      # @return [void]
      def close
        @settings.leases&.close
        @settings.guard.undelivered&.close
        backend.close
        nil
      end

      # @return [Tiercel::Backend] the backend that stores the frames
      def backend = @settings.backend

      # @return [String] a description without values and passwords
      def inspect = "#<#{self.class.name} backend=#{backend} options=#{::Tiercel::Redacted.options(@options)}>"

      # @return [String, Proc, nil] the prefix of every key
      def namespace = @options[:namespace]

      # Tiers listen for the keys of one namespace. With the new namespace they get new connections and a new listener.
      #
      # @param namespace [String, Proc, nil]
      def namespace=(namespace)
        namespace = within_worker(namespace) if @worker
        return if namespace == @options[:namespace]
        @options = @options.merge(namespace:)
        return mount unless backend.tiered? && @settings.prefix != own_prefix
        open_with(build_settings)
      end

      # --- the request-local cache, as in ActiveSupport::Cache::Strategy::LocalCache ---

      STRATEGY = Strategy::LocalCache
      private_constant :STRATEGY

      # Remembers the block's reads and writes until the block ends. A nested block begins with an empty cache. A
      # backend in this machine's memory needs none.
      #
      # @return [Object] the block's result
      def with_local_cache(&) = use_temporary_local_cache(STRATEGY::LocalStore.new, &)

      # Begins a local cache, as the middleware does at the beginning of a request.
      #
      # @return [void]
      def new_local_cache
        @settings.request_local&.current = STRATEGY::LocalStore.new
      end

      # Ends the local cache.
      #
      # @return [void]
      def unset_local_cache
        @settings.request_local&.current = nil
      end

      # @return [ActiveSupport::Cache::Strategy::LocalCache::LocalStore, nil]
      def local_cache = @settings.request_local&.current

      # Rails adds this middleware to the application's stack. The middleware calls the store when a request begins and
      # ends. On Rails 7.2 and 8.0 it instead takes the name of the local cache, and begins and ends the cache itself.
      def middleware
        told = STRATEGY.method_defined?(:new_local_cache) ? self : local_cache_key
        @middleware ||= STRATEGY::Middleware.new(STRATEGY.name, told)
      end

      # Returns false for `middleware` without a local cache: Rails would add a middleware, at a cost in each request.
      def respond_to?(name, all = false) = super && (name != :middleware || !@settings.request_local.nil?)

      # --- for {Tiercel::Fetch} and for tests in parallel ---

      # Sends the event of a step of `fetch`, and runs the step in it: the block, or the write of its value.
      #
      # @param operation [Symbol] :generate or :write
      # @param miss [Fetch::Miss]
      # @return [Object] the result of the given block
      def instrument_miss(operation, miss, options, &)
        return yield unless heard?(EVENTS[operation])
        instrument(operation, event_key(miss.name, miss.key, options), options, &)
      end

      # @return [Boolean] whether a write sends an event
      def tells_writes? = heard?(WRITE)

      # Sends the event of a caller that received a value without running its block.
      #
      # @return [void]
      def notify_of_hit(name, key, options)
        return unless heard?(FETCH_HIT)
        instrument(:fetch_hit, RAILS_8_2 ? event_key(name, key, options) : name, options)
      end

      # @private
      def options_of_write(options) = merged_options(options)

      # @private
      def version_of_write(name, options) = normalize_version(name, options)

      # @private
      # @param name [Object] a name as in `read`
      # @return [String] the key in the backend
      def stored_key(name) = normalize_key(name, merged_options(nil))

      # Rebuilds the store from its configuration, as a newly booted process would.
      #
      # @private
      # @param built [Hash] new settings by old settings, compared by identity; stores that shared settings share the
      #   new ones
      # @return [true]
      def reopen(built)
        open_with(built[@settings] ||= build_settings)
        true
      end

      # @private
      # @return [Boolean] false if `initialize` failed
      def built? = !@settings.nil?

      # @private
      # @return [Tiercel::Configuration]
      attr_reader :configuration

      # A module may override a method to see every call, so the check for patches runs again.
      def extend(*) = super.tap { @patches&.check }

      private

      # A test may stub a method of this store, so the check for patches runs again.
      def singleton_method_added(_name) = @patches&.check
      def singleton_method_removed(_name) = @patches&.check
      def singleton_method_undefined(_name) = @patches&.check

      def build_settings
        ::Tiercel::Store::Settings.new(@configuration, -> { logger }, rails_coder: @rails_coder)
      end

      def open_with(settings)
        @settings = settings
        @coder = settings.coder unless @configuration.coder?
        @options = @options.merge(compress_threshold: settings.compress_threshold)
        mount
      end

      def mount
        @accessor, @reader, @writer = @settings.accessor, @settings.reader, @settings.writer
        @worker = ::Tiercel::TestWorker.namespace(@configuration.url)
        @options = @options.merge(namespace: within_worker(@options[:namespace])) if @worker
        @settings.listen_for(own_prefix)
        @options.freeze
        @plain = @options.values_at(*SLOW_OPTIONS).none?
        @fetch_in_series = @settings.fetch if @settings.backend.exchanges_at_once?
        @plain_writes = @plain && @settings.policy.stale_seconds.nil?
        @expires_in = @options[:expires_in]
        @only_bytes = @settings.backend.in_memory?
        @longest_own_name = @options[:namespace].nil? ? @settings.max_key_bytes || ANY_BYTES : nil
        @most_tags = (Tags::Named::MAX_COUNT if @accessor.compares_tags?)
        @patches = find_patches
      end

      def find_patches
        own = [TiercelStore, ::Tiercel::Store::Hooks]
        ::Tiercel::Store::Patches.new(self, own, !@coder.equal?(@settings.coder))
      end

      def policy_for(options) = options.equal?(@options) ? @settings.policy : @settings.policy.for(options)

      # --- events ---
      #
      # Rails' own `instrument` costs more than a read of shared memory, so it runs only for a subscriber or a logger.
      # The result of a call never depends on either. A `fetch` that misses sends one `cache_generate`, like Rails' own
      # stores. A `fetch` whose caller receives another caller's value, or an expired one, sends one `cache_fetch_hit`.

      # Every call asks the logger, because Rails does not notify stores of a new one. {Tiercel::Store::Subscriptions}
      # keeps the answer about subscribers.
      #
      # @return [Boolean] whether the event has a subscriber or a log line
      def heard?(event)
        unheard = ActiveSupport::Notifications.notifier.equal?(SUBSCRIPTIONS.answer.unheard)
        return true if @patches.events || (!unheard && listened?(event))
        logger = self.logger
        logger.nil? ? false : logger.debug? && !silence?
      end

      # Called directly only for the second event of a call, after {#heard?} of the first returned false: then no logger
      # logs. Rails lets an application replace the notifier by any object that can listen.
      def listened?(event)
        answer = SUBSCRIPTIONS.answer
        notifier = ActiveSupport::Notifications.notifier
        return false if notifier.equal?(answer.unheard)
        return notifier.listening?(event) unless notifier.respond_to?(:all_listeners_for)
        !notifier.all_listeners_for(event).empty? || SUBSCRIPTIONS.none(notifier, answer)
      end

      # @return [String] the key for an event's payload. Rails interprets a key's bytes as UTF-8
      def event_key(name, key, options)
        name.instance_of?(String) && key.encoding == Encoding::UTF_8 ? key : normalize_key(name, options)
      end

      # @param names [Array<Object>, Hash{Object => Object}] names, or values by name
      # @return [Array<Object>, Hash{Object => Object}] with the keys in place of the names; on Rails 7.2 the argument
      def in_event(names, options)
        return names unless KEYS_IN_EVENTS
        return names.transform_keys { |name| normalize_key(name, options) } if names.is_a?(Hash)
        names.map { |name| normalize_key(name, options) }
      end

      def instrument_heard(operation, names, options, &)
        return yield({}) unless heard?(EVENTS[operation])
        instrument_multi(operation, in_event(names, options), options, &)
      end

      # Every event of one key passes through this method; a subclass may have events of its own.
      def instrument(operation, key, options = nil, &)
        event = EVENTS[operation]
        return (yield({}) if block_given?) unless event.nil? || heard?(event)
        return super unless operation == :read
        super { |payload| yield(payload).tap { payload.delete(:tier) if payload[:hit] == false } }
      end

      # Every event of several keys passes through this method.
      def instrument_multi(operation, keys, options = nil, &)
        event = EVENTS[operation]
        event.nil? || heard?(event) ? super : yield({})
      end

      # --- names, keys and options ---

      # Most names are Strings that serve as their own keys.
      #
      # @return [String] the key, as Rails' `normalize_key` returns it; the name itself if it is a String without a
      #   version and the store has no namespace. A segment compares bytes, so for a segment the name may have any
      #   encoding
      # @raise [ArgumentError] for a blank name
      def key_of(name, options)
        if options.nil? && @longest_own_name && name.instance_of?(String) && !name.respond_to?(:cache_key) &&
           !name.respond_to?(:cache_version) && !name.empty? && name.bytesize <= @longest_own_name &&
           (@only_bytes || name.encoding.equal?(Encoding::UTF_8))
          return name
        end
        namespace = options&.key?(:namespace) ? options[:namespace]&.to_s : namespace_now
        RULES.key(name, namespace, @settings.max_key_bytes) || normalize_key(name, options).dup
      end

      # @param key [String] the result of {#key_of}
      # @param options [Hash, nil] options of the call; a `version:` in them overrides the name's own version
      # @return [String, nil]
      def version_of(name, key, options)
        return normalize_version(name, options) if options&.key?(:version)
        return if key.equal?(name)
        version = RULES.version(name)
        version == false ? normalize_version(name) : version
      end

      # @return [Array<String>] the keys; `names` itself if every name is its own key
      def keys_of(names, options)
        keys = RULES.keys(names, namespace_of(options), @settings.max_key_bytes) if @plain
        keys || names.map { |name| normalize_key(name, options) }
      end

      # @return [Array<String, nil>, nil] nil if no name has a version
      def versions_of(names, keys, options)
        return names.map { |name| normalize_version(name, options) } if options[:version]
        return if keys.equal?(names)
        versions = names.map { |name| RULES.version(name) }
        return names.map { |name| normalize_version(name, options) } if versions.include?(false)
        versions if versions.any?
      end

      # An expiry, valid tags, and the options that a miss commonly uses need no merge.
      #
      # @return [Hash, nil, false] the options if the key or the version depends on them, nil if neither does; false if
      #   the call has to merge its options
      def naming_options(options)
        naming = RULES.naming_options(options, @most_tags, Tags::Named::MAX_BYTES, true)
        naming && @worker && naming.key?(:namespace) ? false : naming
      end

      def only_expires_in?(options)
        options.size == 1 && options.key?(:expires_in) && RULES.lasts?(options[:expires_in])
      end

      # Tags become a {Tiercel::Store::Tags::Named}; the worker of a parallel test gets its own namespace.
      def merged_options(call_options)
        merged = !call_options || call_options.empty? ? @options : super
        tags = merged[:tags]
        merged = merged.merge(namespace: within_worker(merged[:namespace])) if @worker && !merged.equal?(@options)
        return merged if tags.nil? || Tags::Named === tags
        merged.merge(tags: named_tags(tags, merged))
      end

      def normalize_key(name, options = nil) = truncate_key(super)

      # Rails 7.2 and 8.0 leave long keys to each store.
      def truncate_key(key)
        limit_bytes = @settings.max_key_bytes
        return key if !limit_bytes || key.bytesize <= limit_bytes
        suffix = ":hash:#{digest_of(key)}"
        "#{key.byteslice(0, limit_bytes - suffix.bytesize).scrub("")}#{suffix}"
      end

      def digest_of(key) = ActiveSupport::Digest.hexdigest(key)

      def namespace_now = namespace_of(@options)

      def namespace_of(options)
        namespace = options[:namespace]
        namespace = namespace.call if namespace.respond_to?(:call)
        namespace&.to_s
      end

      def key_prefix(options) = (namespace = namespace_of(options)) && "#{namespace}:"

      # @return [String, nil] the prefix of all keys; nil if it changes, or without a namespace
      def own_prefix = (key_prefix(@options) unless @options[:namespace].respond_to?(:call))

      # If all workers of a parallel test share a server, the worker's namespace precedes every namespace.
      def within_worker(namespace)
        return -> { within_worker(namespace.call) } if namespace.respond_to?(:call)
        return @worker if namespace.nil?
        inside = namespace == @worker || namespace.to_s.start_with?("#{@worker}:")
        inside ? namespace : "#{@worker}:#{namespace}"
      end

      # --- tags ---

      def named_tags(tags, options)
        names = Tags::Named.check((tags.is_a?(Array) ? tags : [tags]).map { |tag| tag_name(tag) })
        return if names.empty?
        Tags::Named.refuse "raw values and counters take none: they are kept without a frame" if options[:raw]
        unless @coder.is_a?(::Tiercel::Coder) || PASS_THROUGH.equal?(@coder)
          Tags::Named.refuse "what the store's coder: writes has no place for them; leave out coder:, or tags:"
        end
        Tags::Named.new(names, tag_keys(names, options[:namespace]))
      end

      def tag_name(tag) = Tags.name_of(tag) { expanded_key(tag) }

      def tag_keys(names, namespace)
        names.map { |name| normalize_key("#{Tags::KEY_PREFIX}#{name}", namespace:) }
      end

      # --- the parts of the calls above ---

      def exists?(key, version, options, event)
        exists = !(Signal === @reader.read(key, version, options, event))
        @settings.fetch.runtime.observer&.recount(backend, exists ? -1 : 0, exists ? 0 : -1) # `exist?` is no read
        exists
      end

      # One caller computes a missing value ({Tiercel::Fetch}); with `lease: false`, every caller.
      def miss(name, key, version, options, policy, found, &)
        found = nil if MISS.equal?(found)
        return @settings.fetch.value(self, name, key, version, options, policy, found, &) if policy.lease
        handle_expired_entry(@reader.entry(found.bytes, key:, report: false), key, options) if found
        generate_and_write(name, key, options, &)
      end

      # Runs the block and writes its value, without a lease.
      def generate_and_write(name, key, options)
        tags = options[:tags]
        @settings.generations.fix(tags) if tags
        own = ::Tiercel::Fetch::WriteOptions.allocate.of_miss(options, self)
        value = instrument(:generate, event_key(name, key, options), options) do
          @settings.fetch.timed(key) { yield(name, own) }
        end
        write(name, value, own.options) unless value.nil? && own.options[:skip_nil]
        value
      end

      def fetch_without_leases
        @settings.warn_once(@patches) if @settings.policy.lease
        yield
      end

      # @return [Hash{Object => Object}] values by name
      def read_several(names, keys, versions, options, event, useless = {})
        if versions && keys.uniq.size < keys.size # names that share a key may need different versions
          return names.each_with_index.with_object({}) do |(name, index), found|
            value = @reader.read(keys[index], versions[index], options)
            found[name] = value unless Signal === value
          end
        end
        own = keys.equal?(names)
        keys = RULES.frozen(keys) if own # a Hash interns an unfrozen String, which costs as much as a read
        found = @reader.read_multi(own || versions ? keys : keys.uniq, versions, options, event, useless)
        return found if own
        results = {}
        names.each_with_index do |name, index|
          value = found.fetch(keys[index], MISS)
          results[name] = value unless MISS.equal?(value)
        end
        results
      end

      # @return [Hash{Object => Object}] the computed values by name
      def complete(names, keys, versions, found, useless, options, policy)
        at = names.each_index.reject { |index| found.key?(names[index]) }
        missing = names.values_at(*at)
        if options[:force] || !policy.lease
          @settings.generations.fix(options[:tags]) if options[:tags]
          missing = missing.zip(keys.values_at(*at))
          return missing.to_h { |name, key| [name, @settings.fetch.timed(key) { yield(name) }] }
        end
        versions = versions ? versions.values_at(*at) : []
        @settings.fetch.values(self, missing, keys.values_at(*at), versions, options, policy, useless) do |name, _own|
          yield name
        end
      end

      # With leases all values are already stored, and only the event remains to be sent.
      def after_fetching(made, options, policy)
        made = made.compact if options[:skip_nil]
        return if made.empty?
        return write_multi(made, options) if options[:force] || !policy.lease
        instrument_heard(:write_multi, made, options) { true }
      end

      def count(operation, name, change, amount, options, keywords)
        options = merged_options(options ? options.merge(keywords) : keywords)
        Tags::Named.refuse "raw values and counters take none: they are kept without a frame" if options[:tags]
        key = normalize_key(name, options)
        instrument(operation, key, { amount: amount }) do
          @settings.counter.change(operation, key, change, options[:expires_in])
        end
      end

      def local_cache_key = @settings.request_local&.registry_key || :tiercel_no_local_cache

      # Rails' own tests of stores with a local cache call this method of the store.
      def bypass_local_cache(&) = use_temporary_local_cache(nil, &)

      def use_temporary_local_cache(temporary)
        request_local = @settings.request_local or return yield
        saved = request_local.current
        request_local.current = temporary
        yield
      ensure
        request_local&.current = saved
      end
    end

    ::Tiercel::TestWorker.store_class = TiercelStore
  end
end
