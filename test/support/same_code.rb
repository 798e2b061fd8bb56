# frozen_string_literal: true

require "active_support/cache/tiercel_store"
require "tmpdir"
require "support/listeners"

# The methods of this project that a call runs without subscribers, but not with a subscriber or a debug logger.
# Public methods, and methods that send events, may differ.
module SameCode
  LIB = File.expand_path("../../lib", __dir__)
  Record = Struct.new(:cache_key, :cache_version)
  RECORD = Record.new("record", "1")
  STORES = {
    "memory:" => ->(_) { ["memory:", {}] },
    "shared:" => ->(dir) { ["shared:#{dir}/segment?size=16MB", {}] },
    "file:" => ->(dir) { ["file:#{dir}/cache?timeout=5", {}] },
    "tiers" => ->(dir) { ["shared:#{dir}/near?size=16MB", "sqlite:#{dir}/last.sqlite3?timeout=5", {}] },
  }.freeze
  CALLS = {
    "read" => ->(store, _) { store.read("here") },
    "read of an absent name" => ->(store, index) { store.read("absent/#{index}") },
    "read with an end" => ->(store, _) { store.read("here", expires_in: 60) },
    "read with a version" => ->(store, _) { store.read("here", version: "1") },
    "read in a namespace" => ->(store, _) { store.read("here", namespace: "n") },
    "read of a record" => ->(store, _) { store.read(RECORD) },
    "read with tags" => ->(store, _) { store.read("tagged") },
    "exist?" => ->(store, _) { store.exist?("here") },
    "read_multi" => ->(store, _) { store.read_multi("here", RECORD) },
    "fetch" => ->(store, _) { store.fetch("here") { raise "a miss" } },
    "fetch of a record" => ->(store, _) { store.fetch(RECORD) { raise "a miss" } },
    "fetch with tags" => ->(store, _) { store.fetch("tagged", tags: ["tag"]) { raise "a miss" } },
    "fetch of an absent name" => ->(store, _) { [store.delete("missing"), store.fetch("missing") { { "id" => 1 } }] },
    "write" => ->(store, _) { store.write("here", { "id" => 1 }) },
    "write_multi" => ->(store, _) { store.write_multi({ "here" => 1, RECORD => 2 }) },
    "delete" => ->(store, _) { store.delete("gone") },
  }.freeze
  MAY_DIFFER = %w[Tiercel::Store::FastPath# Tiercel::Store::Events# Tiercel::Store::Events::Subscriptions#].freeze
  # Occasional work, such as saving the account, is part of one in several calls.
  RUNS = 5

  class << self
    # @return [Hash{String => Array<String>}] the methods, by store, call and listener; only those that differ
    def replaced
      STORES.each_with_object({}) do |(name, arguments), replaced|
        with_store(arguments) do |store|
          CALLS.each do |call_name, call|
            difference(store, call) { |listener, methods| replaced["#{name} #{call_name}, #{listener}"] = methods }
          end
        end
      end
    end

    private

    def with_store(arguments)
      Dir.mktmpdir("tiercel-code-") do |dir|
        *urls, options = arguments.call(dir)
        store = ActiveSupport::Cache::TiercelStore.new(*urls, **options)
        ["here", RECORD].each { |name| store.write(name, { "id" => 1 }) }
        store.write("tagged", { "id" => 1 }, tags: ["tag"])
        yield store
      ensure
        store&.close
      end
    end

    def difference(store, call)
      plain = runs(store, call)
      Listeners::ALL.each do |name, listener|
        heard = nil
        listener.call(store) { heard = runs(store, call) }
        methods = (plain.inject(:&) - heard.inject(:|)).reject { |method| method.start_with?(*MAY_DIFFER) }
        yield name, methods unless methods.empty?
      end
    end

    def runs(store, call)
      2.times { call.call(store, unused) }
      Array.new(RUNS) { traced(store, call) }
    end

    def unused = @unused = (@unused || 0) + 1

    def traced(store, call)
      methods = []
      index = unused
      trace = TracePoint.new(:call) do |point|
        methods << "#{point.defined_class}##{point.method_id}" if point.path.start_with?("#{LIB}/")
      end
      trace.enable(target_thread: Thread.current) { call.call(store, index) }
      methods.uniq
    end
  end
end
