# frozen_string_literal: true

module Tiercel::Store
  # The private methods that Rails' public methods call: they turn entries into bytes and back. Tiercel's own
  # methods call no hook. Callers are subclasses, gems, and Rails' own public methods, which run if the store has a
  # `coder:` of its own, or if other code has patched a method that Tiercel would bypass ({Patches}).
  #
  # @private
  module Hooks
    # Rails' coder for `coder: nil`.
    PASS_THROUGH = ActiveSupport::Cache::SerializerWithFallback[:passthrough]

    # Wraps a frame while Rails' methods pass it on. A String would not do, because Rails would treat it as a payload
    # in its own format.
    SerializedFrame = Struct.new(:bytes) do
      def bytesize = bytes.bytesize
    end

    private

    # --- read ---

    # With leases, an expired entry counts as a miss: Rails' `read` would delete it, and with it a lease that another
    # caller has just acquired.
    def read_entry(key, **options)
      entry = deserialize_entry(read_serialized_entry(key, **options), key:, **options)
      entry unless entry&.expired? && leases?(options)
    end

    def read_serialized_entry(key, event: nil, tags: nil, raw: false, delete: false, **)
      return @settings.reader.take_away(key) if delete
      accessor = @settings.accessor
      return accessor.get_tagged(key, tags, event) if tags
      raw ? accessor.get_raw(key, event) : accessor.get(key, event)
    end

    def read_multi_entries(names, event: nil, **options)
      return {} if names.empty?
      keys = names.map { |name| normalize_key(name, options) }
      accessor = @settings.accessor
      found = options[:raw] ? accessor.get_multi_raw(keys.uniq, event) : accessor.get_multi(keys.uniq, event)
      names.zip(keys).each_with_object({}) do |(name, key), results|
        entry = found.key?(key) && deserialize_entry(found[key], key:, **options)
        next if !entry || entry.expired? || entry.mismatched?(normalize_version(name, options))
        results[name] = entry.value
      end
    end

    # `tags` contains the generations that were read with the payload. Rails' pass-through coder (`coder: nil`)
    # neither dumps nor loads, but the backend's bytes are a frame, so the store's coder loads them.
    def deserialize_entry(payload, raw: false, key: nil, report: true, tags: nil, compare: true, **)
      payload = payload.bytes if SerializedFrame === payload
      coder = @coder.equal?(PASS_THROUGH) && !payload.is_a?(ActiveSupport::Cache::Entry) ? @settings.coder : @coder
      @settings.reader.entry(payload, coder:, raw:, key:, report:, tags:, compare:)
    end

    # Neither deletes an expired entry nor extends it, because the leader keeps its stale value with the lease.
    def handle_expired_entry(entry, key, options)
      entry&.expired? && leases?(options) ? super(nil, key, options) : super
    end

    def leases?(options) = !@patches.any && policy_for(options).lease

    # --- write ---

    # If the application writes an entry that it has read, the entry keeps its recorded tags.
    def write_entry(key, entry, raw: false, **options)
      options.delete(:tags) if options[:tags] && Tiercel::Coder::LazyEntry === entry
      write_serialized_entry(key, serialize_entry(entry, raw:, key:, **options), raw:, **options)
    end

    # `batch`: a Hash that collects the frame instead of writing it at once.
    def write_serialized_entry(key, payload, raw: false, unless_exist: false, batch: nil, **options)
      writer = @settings.writer
      policy = policy_for(options)
      bytes = bytes_of(key, payload, **options)
      bytes = writer.with_stale_windows(key, bytes, policy) unless raw
      return if options[:tags] && !(bytes = writer.tagged(key, bytes, options[:tags]))
      bytes = writer.exclusive(key, bytes) if unless_exist && !raw
      return !!(batch[key] = bytes) if batch
      ttl = writer.ttl(raw, policy:, **options)
      accessor = @settings.accessor
      return accessor.set(key, bytes, ttl) unless unless_exist
      accessor.add(key, bytes, ttl) { |present| expired_bytes?(present, key) }
    end

    def write_multi_entries(entries, raw: false, unless_exist: false, **options)
      return if options[:tags] && !@settings.generations.fix(options[:tags])
      if unless_exist
        entries.each { |key, entry| write_entry(key, entry, raw:, unless_exist: true, **options) }
        return true
      end
      batch = {}
      entries.each { |key, entry| write_entry(key, entry, raw:, batch:, **options) }
      @settings.accessor.set_multi(batch, @settings.writer.ttl(raw, policy: policy_for(options), **options))
    end

    def serialize_entry(entry, raw: false, key: nil, **options)
      return @settings.writer.frame(key, entry.value, entry.version, { **options, raw: }, @settings.policy).b if raw
      return entry if @coder.equal?(PASS_THROUGH) # Rails' `compress` would use Marshal
      return super(entry, **options) unless @coder.is_a?(Tiercel::Coder)
      merged = @options.merge(options)
      SerializedFrame.new(@settings.writer.frame_of_entry(key, entry, merged[:compress], merged[:compress_threshold]))
    end

    # Returns the bytes to store. With `coder: nil` the payload is an entry, which becomes a frame here, because
    # backends store bytes only.
    def bytes_of(key, payload, compress: @options[:compress], compress_threshold: @options[:compress_threshold], **)
      case payload
      when SerializedFrame then payload.bytes.freeze
      when String then payload
      else @settings.writer.frame_of_entry(key, payload, compress, compress_threshold)
      end
    end

    # An expired entry counts as absent. The backend may keep its bytes beyond the expiry.
    def expired_bytes?(bytes, key)
      return false if Tiercel::Counter.parse(bytes)
      entry = deserialize_entry(bytes, key:)
      entry.nil? || entry.expired?
    end

    # --- delete ---

    def delete_entry(key, **) = @settings.accessor.delete(key)
    def delete_multi_entries(keys, **) = @settings.accessor.delete_multi(keys)

    # --- fetch ---

    # Rails' own `fetch` calls this on a miss. Tiercel's method yields options with the method `tags=`.
    def save_block_result_to_cache(name, key, options, &) = generate_and_write(name, key, options, &)
  end

  # Finds the methods that Tiercel bypasses and other code has replaced. A store checks when it is built, and when the
  # application has booted, because agents and gems patch Rails at boot. The store also checks when a test stubs one of
  # its methods.
  #
  # @private
  class Patches
    # Rails' public methods, and the hooks that they call. A subclass or a prepended module may override a hook to see
    # every call.
    FRONTS = %i[read fetch write delete exist? read_multi fetch_multi write_multi delete_multi].freeze
    HOOKS = %i[
      normalize_key normalize_version merged_options expanded_key expanded_version namespace_key
      handle_expired_entry get_entry_value save_block_result_to_cache
      read_entry read_serialized_entry read_multi_entries deserialize_entry
      write_entry write_serialized_entry write_multi_entries serialize_entry
      delete_entry delete_multi_entries options normalize_options expand_and_namespace_key truncate_key
    ].freeze
    # The methods through which Rails' `fetch` writes: a subclass may override them to see every write.
    WRITES = %i[write write_multi].freeze
    # A patch of one of these methods expects every call, even without a subscriber.
    INSTRUMENTS = %i[instrument instrument_multi _instrument].freeze
    private_constant :FRONTS, :HOOKS, :WRITES, :INSTRUMENTS

    # @param store [ActiveSupport::Cache::TiercelStore]
    # @param own [Array<Module>] the modules in which this library defines hooks
    # @param coder [Boolean] whether the store has a coder of its own
    def initialize(store, own, coder)
      @store = store
      @own = [ActiveSupport::Cache::Store, *own]
      @coder = coder
      check
      Patches.once_booted(self)
    end

    # @return [Boolean] whether Rails' own methods serve every call
    attr_reader :any
    # @return [Boolean] whether every call sends events
    attr_reader :events

    # @return [String] for the log
    def to_s = @coder ? "the store has a coder: of its own" : "#{@names.join(", ")} are patched"

    # @return [void]
    def check
      @names = replaced(FRONTS + HOOKS) | overridden(HOOKS + WRITES)
      @any = @coder || @names.any?
      @events = (replaced(INSTRUMENTS) | overridden(INSTRUMENTS)).any? || notifications_replaced?
    end

    @waiting = ObjectSpace::WeakMap.new
    @booted = false

    class << self
      # Checks a store again when the application has booted.
      def once_booted(patches)
        return if @booted
        @waiting[patches] = true
      end

      # @return [void]
      def booted
        @booted = true
        @waiting.keys.each(&:check)
      end
    end

    private

    def overridden(names)
      names.select { |name| @store.respond_to?(name, true) && !ours?(@store.method(name).owner) }
    end

    # The audit of tiercel-insight calls the original methods.
    def ours?(owner) = @own.include?(owner) || owner.name.to_s.start_with?("Tiercel::Insight::")

    # Methods of Rails' class that no longer come from Rails' file.
    def replaced(names) = names.reject { |name| original?(ActiveSupport::Cache::Store, name, :initialize) }

    def notifications_replaced?
      !original?(ActiveSupport::Notifications.singleton_class, :instrument, :publish)
    end

    def original?(owner, name, witness)
      return true unless owner.method_defined?(name) || owner.private_method_defined?(name)
      file = owner.instance_method(witness).source_location&.first
      owner.instance_method(name).source_location&.first == file
    end
  end

  ActiveSupport.on_load(:after_initialize) { Patches.booted }
end
