# frozen_string_literal: true

# The built-in serializers, by name. docs/serializers.md compares them.
#
# A serializer responds to `dump(value) -> String`, `load(bytes) -> value` and `type`, the number in a frame's
# header that identifies it. A user's own serializer needs only `dump` and `load`.
module Tiercel::Serializers
  autoload :AsJSON, "tiercel/serializers/as_json"
  autoload :Auto, "tiercel/serializers/auto"
  autoload :Custom, "tiercel/serializers/custom"
  autoload :Marshal, "tiercel/serializers/marshal"
  autoload :MessagePack, "tiercel/serializers/message_pack"

  REGISTRY = Tiercel::Registry.new("serializer")

  REGISTRY.register(:auto) { Auto.new }
  REGISTRY.register(:marshal) { Marshal.new }
  REGISTRY.register(:message_pack, gem: "msgpack") { MessagePack.new }
  REGISTRY.register(:as_json) { AsJSON.new }

  # The built-in serializers by the payload type that they read. No serializer writes TYPE_JSON any more.
  NAMES = {
    Tiercel::Frame::Layout::TYPE_MARSHAL => :marshal,
    Tiercel::Frame::Layout::TYPE_MESSAGE_PACK => :message_pack,
    Tiercel::Frame::Layout::TYPE_JSON => :as_json,
    Tiercel::Frame::Layout::TYPE_AS_JSON => :as_json,
  }.freeze

  # @param option [Symbol, String, #dump] the `serializer:` option: a name, or an object with dump and load
  # @return [Object] a serializer
  # @raise [ConfigurationError] if the option is neither
  # @raise [MissingDependency] if its library is not installed
  def self.build(option)
    option = of_module(option) || option
    return REGISTRY.fetch(option) if option.is_a?(Symbol) || option.is_a?(String)
    unless option.respond_to?(:dump) && option.respond_to?(:load)
      raise Tiercel::ConfigurationError,
        "serializer: expected one of #{REGISTRY.names.join(", ")}, or an object with " \
        "dump(value) and load(bytes), got #{Tiercel::Redacted.text(option)}"
    end
    return option if option.respond_to?(:type) && NAMES.key?(option.type)
    Custom.new(option)
  end

  # Rails' own serializers fall back to Marshal, even with `marshal: false`, so ours take their place.
  def self.of_module(option)
    case (option.name if option.instance_of?(Module))
    when "Marshal", /\AActiveSupport::Cache::.*::Marshal/ then :marshal
    when /\AActiveSupport::(Cache::.*::)?MessagePack/ then :message_pack
    end
  end
  private_class_method :of_module
end
