# frozen_string_literal: true

require "msgpack" # first: if it is missing, Rails prints its own message
require "active_support"
require "active_support/message_pack"

module Tiercel
  # Rails' ActiveSupport::MessagePack. docs/serializers.md lists the information that it loses.
  #
  # Rails' cache serializer also accepts objects of any class with `from_msgpack_ext` or `json_create`: their
  # payload names the class, and loading calls that method. `any_class: false` accepts only the types that Rails and
  # the application have registered.
  class Serializers::MessagePack
    # @param any_class [Boolean] whether a payload may name the class of its objects
    def initialize(any_class: true)
      @any_class = any_class
    end

    # @return [MessagePack] for stores that load untrusted bytes
    def strict = Serializers::MessagePack.new(any_class: false)

    # @return [Integer] in the frame's header
    def type = Frame::Layout::TYPE_MESSAGE_PACK

    # @param value [Object]
    # @return [String]
    # @raise [ActiveSupport::MessagePack::UnserializableObjectError] if the value contains an object whose class
    #   neither Rails nor the application has registered
    # @raise [SerializationError] if the value is nested without end
    def dump(value)
      rails.dump(value)
    rescue SystemStackError
      raise SerializationError, "#{value.class}: writing it has no end (a cycle, or before Rails 8.1 a " \
                                "SafeBuffer). Choose serializer auto, or cache something plainer."
    end

    # Avoids CacheSerializer.load, which returns nil if a class no longer exists; the store would take that for a
    # cached nil.
    #
    # @param bytes [String]
    # @return [Object]
    # @raise [MalformedFrame] if the bytes are truncated or altered
    # @raise [ActiveSupport::MessagePack::MissingClassError] if a class no longer exists
    def load(bytes)
      LOADER.bind_call(rails, bytes)
    rescue ::MessagePack::UnpackError, EOFError, NoMemoryError, SystemStackError => error
      raise MalformedFrame, "a message_pack payload of #{Sizes.human(bytes.bytesize)} could not be loaded: " \
                            "#{error.class}"
    end

    # @raise [ConfigurationError] because Rails' serializer keeps state that Ractors do not share
    def freeze
      raise ConfigurationError, "serializer: :message_pack works in the main Ractor only: use :auto, :marshal or " \
                                ":as_json"
    end

    LOADER = ActiveSupport::MessagePack::Serializer.instance_method(:load)
    private_constant :LOADER

    private

    # Created on first use, as in Rails, because the application may register types until then.
    def rails
      @rails ||= @any_class ? ActiveSupport::MessagePack::CacheSerializer : registered_types_only
    end

    def registered_types_only
      ActiveSupport::MessagePack::CacheSerializer.warmup
      factory = ActiveSupport::MessagePack::CacheSerializer.message_pack_factory.dup
      ActiveSupport::MessagePack::Extensions.install_unregistered_type_error(factory)
      serializer = Module.new { extend ActiveSupport::MessagePack::Serializer }
      serializer.message_pack_factory = factory.freeze
      serializer
    end
  end
end
