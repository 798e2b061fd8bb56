# frozen_string_literal: true
# quick

require "test_helper"
require "active_support/cache/tiercel_store"

# The same calls of this store and of Rails' own MemoryStore: results, exceptions and events are equal, whether somebody
# listens to the events or not.
class StoreAsRailsTest < Tiercel::TestCase
  Record = Struct.new(:cache_key, :cache_version)
  NAMES = {
    "String" => -> { +"a" }, "Symbol" => -> { :a }, "Array" => -> { ["a", [:b, 1]] }, "Hash" => -> { { b: 2, a: 1 } },
    "record" => -> { Record.new("r/1", "1") }, "records" => -> { [Record.new("r/1", "1"), Record.new("r/2", nil)] },
    "own cache_key" => -> { (+"a").tap { |name| name.define_singleton_method(:cache_key) { "own" } } },
    "binary" => -> { "\u00fc".b }, "nil" => -> {}, "blank" => -> { "" },
  }.freeze
  ONE = {
    read: ->(c, n) { c.read(n) }, read_version: ->(c, n) { c.read(n, version: "2") },
    read_options: ->(c, n) { c.read(n, namespace: "other", expires_in: 9) },
    exist: ->(c, n) { [c.exist?(n), c.exist?(n, version: "9")] }, fetch: ->(c, n) { c.fetch(n) { |name| name.class } },
    fetch_again: ->(c, n) { c.fetch(n, expires_in: 60) { raise } }, force: ->(c, n) { c.fetch(n, force: true) { nil } },
    skip_nil: ->(c, n) { [c.delete(n), c.fetch(n, skip_nil: true) { nil }, c.fetch(n) { |_, o| o.version = 2 }] },
    skip_nil_in_the_block: ->(c, n) { c.delete(n) && c.fetch(n) { |_, o| o.expires_in = 5 } },
    no_block: ->(c, n) { c.fetch(n) }, raises: ->(c, n) { c.fetch("#{n}!") { raise IOError, "no" } },
    write: ->(c, n) { c.write(n, 1) }, write_ending: ->(c, n) { [c.write(n, 2, expires_in: 60), c.read(n)] },
    ended: ->(c, n) { MovedClock.by(69) { [c.read(n), c.exist?(n), c.fetch(n, race_condition_ttl: 5) { 3 }] } },
    unless_exist: ->(c, n) { [c.write(n, 4, unless_exist: true), c.delete(n), c.write(n, 5, unless_exist: true)] },
    write_version: ->(c, n) { [c.write(n, 6, version: "2"), c.read(n, version: "2"), c.read(n, version: "3")] },
    delete: ->(c, n) { [c.delete(n), c.delete(n), c.delete(n, namespace: "other")] },
    read_multi: ->(c, n) { [c.write(n, 7), c.read_multi(n, "x", n, version: "1"), c.read_multi(n, "x")] },
    fetch_multi: ->(c, n) { c.fetch_multi(n, "made", "nil", skip_nil: true) { |given| given == "nil" ? nil : 8 } },
    write_multi: ->(c, n) { [!c.write_multi({ n => 9, "other" => 1 }, expires_in: 60), c.read_multi(n, "other")] },
    versions: ->(c, n) { [!c.write_multi({ n => 3 }, unless_exist: true, version: "2"), c.read(n, version: "2")] },
    delete_multi: ->(c, n) { [c.delete_multi([n, "other", "none"]), c.read_multi("other", "made")] },
    count: ->(c, _) { [c.increment("n"), c.increment("n", 4), c.decrement("n", 2), c.read("n", raw: true).to_i] },
    matched: ->(c, _) { [c.write("m/1", 1), !c.delete_matched(/m/), c.exist?("m/1")] },
  }.freeze

  # A MemoryStore asks `exist?` before, or writes a new counter first.
  MORE_EVENTS = %i[unless_exist versions count].freeze

  [{}, { namespace: "space" }, { namespace: -> { "called" } }, { expires_in: 600 }, { version: "1" }].each do |options|
    name = options.to_a.flatten.map { |part| part.respond_to?(:call) ? "proc" : part }.join("_")
    [false, true].each do |heard|
      define_method(:"test_#{name.empty? ? "plain" : name}#{"_heard" if heard}") do
        ours, rails = Tiercel.new("memory:", **options), ActiveSupport::Cache::MemoryStore.new(**options)
        NAMES.to_a.product(ONE.to_a) do |(kind, make), (operation, call)|
          next if kind == "blank" && operation == :raises
          listens = heard && !MORE_EVENTS.include?(operation)
          both = [rails, ours].map { |cache| listens ? heard(cache, call, make) : outcome(cache, call, make) }
          assert_equal(*both, "#{operation} of #{kind}")
        end
      end
    end
  end

  private

  def outcome(cache, call, make)
    [call.call(cache, make.call)]
  rescue StandardError => error
    error.class
  end

  # Also the events, in their order, with the same options under the same names.
  def heard(cache, call, make)
    events = []
    record = lambda do |name, *, payload|
      plain = payload.except(:store, :tier, :compress, :compress_threshold, :exception_object)
      plain.delete(:namespace) if cache.options[:namespace].is_a?(Proc) # a fetch says its answer
      events << [name, plain]
    end
    result = ActiveSupport::Notifications.subscribed(record, /\Acache_/) { outcome(cache, call, make) }
    [result, events]
  end
end
