# frozen_string_literal: true
# quick

require "test_helper"
require "active_support/cache/tiercel_store"
require "active_support/core_ext/object/with"
require "support/ruby_memory"

# A password in a URL, or by mistake anywhere else, never appears in a message.
class StorePasswordsTest < Tiercel::TestCase
  def test_no_password_is_shown
    Tiercel::Backends::REGISTRY.register(:secretive) { Secretive }
    store = Tiercel.new("secretive://user:hunter2@host/0?token=hunter2")
    [store.inspect, store.backend.to_s, store.backend.inspect].each { |text| refute_includes text, "hunter2" }
    error = assert_raises(Tiercel::ConfigurationError) { Tiercel.new("secretive://user:hunter2@host", unknown: 1) }
    refute_includes error.message, "hunter2"
    error = assert_raises(Tiercel::ConfigurationError) do
      Tiercel.new("secretive://user:hunter2@host?token=hunter2", "memory:")
    end
    assert_includes error.message, "secretive://host"
    refute_includes error.message, "hunter2"
  end

  # Wrong places for a password, and the resulting calls.
  MISPLACED = {
    "a Hash for the URL" => -> { Tiercel.new({ url: "redis://:hunter2@host", password: "hunter2" }) },
    "a Hash behind the URL" => -> { Tiercel.new("memory:", { url: "redis://:hunter2@host" }) },
    "a Hash in a Hash" => -> { Tiercel.new({ redis: { url: "redis://:hunter2@host" } }) },
    "an Array for the URL" => -> { Tiercel.new(["redis://:hunter2@host", "hunter2"]) },
    "two URLs" => -> { Tiercel.new("redis://:hunter2@host", "redis:user:hunter2@host?password=hunter2") },
    "a URL without //" => -> { Tiercel.new("nothing:user:hunter2@host") },
    "a URL without a scheme" => -> { Tiercel.new("//:hunter2@host?password=hunter2") },
    "an option of a Hash" => -> { Tiercel.new("memory:", redis: { password: "hunter2" }) },
    "an unknown option in the query" => -> { Tiercel.new("memory:?pasword=hunter2") },
    "a query that is none" => -> { Tiercel.new("memory:?password=hunter2\xFF&x=%zz") },
    "the breaker" => -> { Tiercel.new("file:/nowhere", breaker: { failures: { password: "hunter2" } }) },
    "the breaker's place" => -> { Tiercel.new("file:/nowhere", breaker: "redis://:hunter2@host") },
    "frozen" => -> { Tiercel.new("memory:", frozen: { password: "hunter2" }) },
    "a time" => -> { Tiercel.new("memory:", expires_in: { password: "hunter2" }) },
    "a switch" => -> { Tiercel.new("memory:", marshal: { password: "hunter2" }) },
    "a size" => -> { Tiercel.new("memory:", size: { password: "hunter2" }) },
    "another size" => -> { Tiercel.new("memory:", compress_threshold: ["hunter2"]) },
    "the key size" => -> { Tiercel.new("memory:", max_key_size: [{ password: "hunter2" }]) },
    "a serializer" => -> { Tiercel.new("memory:", serializer: Sealed.new) },
    "a compressor" => -> { Tiercel.new("memory:", serializer: :auto, compressor: Sealed.new) },
    "the error handler" => -> { Tiercel.new("memory:", error_handler: Sealed.new) },
    "a serializer that answers with no String" => -> { Tiercel.new("memory:", serializer: Sealing.new).write("a", 1) },
  }.freeze

  # Contains a secret and is not a serializer.
  class Sealed
    def initialize = @key = "hunter2"
  end

  # Contains a secret and is a faulty serializer.
  class Sealing < Sealed
    def dump(_value) = 1
    def load(bytes) = bytes
  end

  def test_no_message_shows_a_password_wherever_it_stands
    MISPLACED.each do |place, build|
      error = assert_raises(ArgumentError, Tiercel::Error, place) { in_format_7_1 { build.call } }
      refute_match(/wrong number/, error.message, place)
      refute_includes error.full_message(highlight: false), "hunter2", place
    end
  end

  def test_nothing_that_is_inspected_shows_a_password
    store = in_format_7_1 { Tiercel.new("memory:", serializer: Sealing.new, namespace: "n") }
    configuration = Tiercel::Configuration.new(["memory:"], { serializer: Sealing.new, namespace: "hunter2" })
    url = Tiercel::BackendURL.parse("redis://user:hunter2@host?password=hunter2")
    [store, configuration, url].each { |object| refute_includes object.inspect, "hunter2" }
    assert_match(/backend=memory: options=\{.*namespace: "n"/, store.inspect)
  end

  # A backend whose URL contains a password.
  class Secretive < RubyMemory
    def self.option_names = [:token]

    def self.build(url, _options) = new.tap { |backend| backend.instance_variable_set(:@url, url) }

    def to_s = @url.to_s
  end

  private

  # Rails validates objects that serialize and compress with this format.
  def in_format_7_1(&) = ActiveSupport::Cache.with(format_version: 7.1, &)
end
