# frozen_string_literal: true

# The built-in serializers, by name. docs/serializers.md compares them.
#
# A serializer responds to `dump(value) -> String`, `load(bytes) -> value` and `type`, the number in a frame's
# header that identifies it. A user's own serializer needs only `dump` and `load`.
module Tiercel::Serializers
  autoload :AsJSON, "tiercel/serializers/as_json"
  autoload :Auto, "tiercel/serializers/auto"
  autoload :Custom, "tiercel/serializers/custom"
  autoload :JSON, "tiercel/serializers/json"
  autoload :Marshal, "tiercel/serializers/marshal"
  autoload :MessagePack, "tiercel/serializers/message_pack"

  REGISTRY = Tiercel::Registry.new("serializer")

  REGISTRY.register(:auto) { Auto.new }
  REGISTRY.register(:marshal) { Marshal.new }
  REGISTRY.register(:message_pack, gem: "msgpack", version: Tiercel::OptionalGems.requirement("msgpack")) do
    MessagePack.new.tap { Tiercel::OptionalGems.check("msgpack") }
  end
  REGISTRY.register(:json) { JSON.new }
  REGISTRY.register(:as_json) { AsJSON.new }

  # The built-in serializers by the payload type that they read.
  NAMES = {
    Tiercel::Frame::Layout::TYPE_MARSHAL => :marshal,
    Tiercel::Frame::Layout::TYPE_MESSAGE_PACK => :message_pack,
    Tiercel::Frame::Layout::TYPE_JSON => :json,
    Tiercel::Frame::Layout::TYPE_AS_JSON => :as_json,
  }.freeze

  # @param option [Symbol, String, #dump] the `serializer:` option: a name, or an object with dump and load
  # @return [Object] a serializer
  # @raise [ConfigurationError] if the option is neither
  # @raise [MissingDependency] if its library is not installed
  def self.build(option)
    name = option.is_a?(Symbol) || option.is_a?(String) ? option : known_module(option)
    return REGISTRY.fetch(name) if name
    unless option.respond_to?(:dump) && option.respond_to?(:load)
      raise Tiercel::ConfigurationError,
        "serializer: expected one of #{REGISTRY.names.join(", ")}, or an object with " \
        "dump(value) and load(bytes), got #{Tiercel::Redacted.text(option)}"
    end
    return option if option.respond_to?(:type) && NAMES.key?(option.type)
    Custom.new(option)
  end

  # Modules that users pass when they mean a built-in serializer.
  MODULES = {
    "Marshal" => :marshal,
    "ActiveSupport::MessagePack" => :message_pack,
    "ActiveSupport::MessagePack::CacheSerializer" => :message_pack,
    "ActiveSupport::Cache::SerializerWithFallback::Marshal70WithFallback" => :marshal,
    "ActiveSupport::Cache::SerializerWithFallback::Marshal71WithFallback" => :marshal,
    "ActiveSupport::Cache::SerializerWithFallback::MessagePackWithFallback" => :message_pack,
  }.freeze
  private_constant :MODULES

  def self.known_module(option)
    MODULES[option.name] if option.instance_of?(Module)
  end
  private_class_method :known_module
end
