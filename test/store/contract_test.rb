# frozen_string_literal: true

require "test_helper"
require "active_support/cache/tiercel_store"
require "active_support/core_ext/object/with"
require "contracts/store_contract"
require "tmpdir"
require "support/heard_calls"

# The contract of the store in memory, on the fast path and off it. Other files run it over disks, servers and tiers.
module StoreContractTests
  # Builds stores on the backends of one test.
  module Place
    # @return [String] a directory that exists until the end of the test
    def dir = @dir ||= Dir.mktmpdir("tiercel-store-")

    def build_store(**options)
      own = self.class::OPTIONS
      own = own.except(:serializer) if options.key?(:coder) || options.key?(:marshal)
      ActiveSupport::Cache::TiercelStore.new(url, **own, **options)
    end

    def build_peer(_store, **options) = (build_store(**options) if shared?)

    def shared? = true

    def after_teardown
      super
      FileUtils.rm_rf(@dir) if @dir
      @dir = nil
    end
  end

  # Each store has its own cache.
  module InMemory
    include Place
    def url = "memory:"
    def shared? = false
  end

  module InSharedMemory
    include Place
    def url = "shared:#{dir}/segment?size=16MB"
  end

  PLACES = { memory: InMemory, shared: InSharedMemory }.freeze

  # Store options that must not change the results of calls, tested over `memory:`.
  VARIANTS = {
    "Namespaced" => { namespace: "space" },
    "NamespacedByProc" => { namespace: -> { "called" } },
    "Ending" => { expires_in: 86_400 * 365 * 20 },
    "Marshal" => { serializer: :marshal },
    "Checked" => { checksum: true },
    "Eager" => { compress: true, compress_threshold: 1 },
    "Uncompressed" => { compress: false },
    "Memo" => { memo: "1MB" },
    "SmallKeys" => { max_key_size: 120 },
  }.freeze

  # @return [Boolean] whether the backend is available on this platform
  def self.available?(scheme) = scheme == :memory || Tiercel::Extensions.load("segment")

  def self.define(name, places, options)
    test_class = Class.new(Tiercel::TestCase) do
      include Tiercel::Contracts::StoreContract
      include(*places)
    end
    test_class.const_set(:OPTIONS, options.freeze)
    const_set("#{name}Test", test_class)
  end

  PLACES.each do |scheme, place|
    next unless available?(scheme)
    define("#{scheme.capitalize}Fast", place, {})
    define("#{scheme.capitalize}Plain", place, { fast_path: false })
  end

  define("SharedMemoFast", InSharedMemory, VARIANTS["Memo"]) if available?(:shared)

  define("MemoryHeard", [HeardCalls, InMemory], {})

  VARIANTS.each do |name, options|
    define("#{name}Fast", InMemory, options)
    define("#{name}Plain", InMemory, { **options, fast_path: false })
  end
end
