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

  # @param option [Symbol, String, nil, #dump] the `serializer:` option: a name, nil for the default, or an object with
  #   dump and load
  # @param marshal [Boolean] whether the serializer may use Marshal
  # @return [Object] a serializer
  # @raise [ConfigurationError] if the option is none of these, or contradicts `marshal: false`
  # @raise [MissingDependency] if its library is not installed
  def self.build(option, marshal: true)
    serializer = case name = own_name(option) || option || :auto
                 when Symbol, String then REGISTRY.fetch(name)
                 else Custom.new(option)
                 end
    return serializer if marshal
    return serializer.strict if serializer.respond_to?(:strict)
    return serializer unless serializer.type == Tiercel::Frame::Layout::TYPE_MARSHAL
    raise Tiercel::ConfigurationError, "serializer #{Tiercel::Redacted.text(option)} and marshal: false contradict " \
                                       "each other: choose auto, message_pack, json or as_json"
  end

  # Rails' own serializers fall back to Marshal, even with `marshal: false`, so ours take their place.
  def self.own_name(option)
    case option.instance_of?(Module) ? option.name : option
    when "Marshal", /\AActiveSupport::Cache::.*::Marshal/, /\Amarshal_7_[01]\z/ then :marshal
    when /\AActiveSupport::(Cache::.*::)?MessagePack/ then :message_pack
    end
  end
  private_class_method :own_name
end
