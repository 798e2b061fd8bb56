# frozen_string_literal: true

require "test_helper"
require "active_support/cache/tiercel_store"
require "active_support/core_ext/object/with"
require "contracts/store_contract"
require "support/heard_calls"
require "support/store_places"

# The contract of the store in memory. Other files run it over disks, servers and tiers.
module StoreContractTests
  # Builds stores on the backends of one test.
  module Place
    def build_store(**options)
      own = self.class::OPTIONS
      own = own.except(:serializer) if options.key?(:coder) || options.key?(:marshal)
      ActiveSupport::Cache::TiercelStore.new(url, **own, **options)
    end

    def build_peer(_store, **options) = (build_store(**options) if shared?)

    def shared? = true
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
  # The variants that concern code of Rails, for its other versions; {StoreAsRailsTest} runs there too.
  ON_EVERY_VERSION = %w[NamespacedByProc Marshal Eager SmallKeys].freeze

  def self.define(name, places, options)
    test_class = Class.new(Tiercel::TestCase) do
      include Tiercel::Contracts::StoreContract
      include(*places)
    end
    test_class.const_set(:OPTIONS, options.freeze)
    const_set("#{name}Test", test_class)
  end

  define("Memory", InMemory, {})
  define("MemoryHeard", [HeardCalls, InMemory], {})
  # Every second one with subscribers and a logger.
  newest = ENV["TIERCEL_LONG"] || ActiveSupport.version >= Gem::Version.new("8.1")
  VARIANTS.each_with_index do |(name, options), at|
    next unless newest || ON_EVERY_VERSION.include?(name)
    define(name, [(HeardCalls if at.odd?), InMemory].compact, options)
  end
  define("Shared", InSharedMemory, {})
  define("SharedMemo", InSharedMemory, VARIANTS["Memo"]) if newest
end
