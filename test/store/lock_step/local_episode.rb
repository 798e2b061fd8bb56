# frozen_string_literal: true

require_relative "episode"
require_relative "far_memory"
require_relative "rails_local_cache"

module LockStep
  # Compares our request-local cache on the fast path with Rails' own on Rails' methods. Also compares the remembered
  # values and the trips: the fast path never makes more trips.
  class LocalEpisode < Episode
    STRATEGY = ActiveSupport::Cache::Strategy::LocalCache

    # @param seed [Integer]
    def initialize(seed)
      super do |fast_path:, **options|
        options.delete(:coder) if options[:coder].nil? # Rails' then remembers the caller's own objects
        # Over Rails' own cache, which overrides hooks, `fetch` acquires no leases.
        options[:lease] = false
        store = Tiercel.new(fast_path ? "far:" : "far-unmounted:", fast_path: fast_path, **options)
        store.extend(RailsLocalCache) unless fast_path
        store
      end
      remember(true)
    end


    def run(steps)
      super
    ensure
      remember(false)
    end

    private

    def step
      before = trips
      super || difference_of_trips(before) || difference_of_memories
    end

    # For several names with one key, Rails' cache reads the local copy only for the last name.
    def random_call(seed) = RandomCall.new(seed, @subscribers, distinct: true)

    def trips = [@fast, @plain].map { |store| store.backend.trips }

    def difference_of_trips(before)
      fast, plain = trips.zip(before).map { |after, then_| after - then_ }
      "trips: #{fast} fast, #{plain} plain" if fast > plain + (tags? ? 1 : 0)
    end

    # If an entry with tags replaces a lease, the fast path reads its tags once more.
    def tags? = @fast.backend.scan.any? { |key| key.include?(Tiercel::Store::Tags::KEY_PREFIX) }

    def difference_of_memories
      fast, plain = [@fast, @plain].map { |store| memory(store) }
      return if fast == plain
      fast, plain = [[fast, plain], [plain, fast]].map { |one, other| one.to_a - other.to_a } if fast && plain
      "memories differ\n  fast:  #{fast.inspect[0, 1_000]}\n  plain: #{plain.inspect[0, 1_000]}"
    end

    # Only our cache remembers generations of tags; Rails' cache remembers entries only.
    def memory(store)
      local = STRATEGY::LocalCacheRegistry.cache_for(store.send(:local_cache_key)) or return
      copies = local.instance_variable_get(:@data).reject { |key, _| key.include?(Tiercel::Store::Tags::KEY_PREFIX) }
      copies.to_h do |key, copy|
        copy = copy.bytes if copy.is_a?(Tiercel::Store::SerializedFrame)
        [key.b, copy&.b]
      end
    end

    def circumstance
      return super unless @random.rand(3).zero?
      on = !@random.rand(4).zero?
      ["request-local cache #{on}", -> { remember(on) }]
    end

    # A generation is read once per request; the next request sees changes by others.
    def damageable(keys) = keys.reject { |key| key.include?(Tiercel::Store::Tags::KEY_PREFIX) }

    def remember(on)
      [@fast, @plain].each do |store|
        STRATEGY::LocalCacheRegistry.set_cache_for(store.send(:local_cache_key), (STRATEGY::LocalStore.new if on))
      end
    end
  end
end
