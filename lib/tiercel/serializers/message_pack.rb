# frozen_string_literal: true

require "msgpack" # first: where it is missing, Rails prints a line of its own
require "active_support"
require "active_support/message_pack"
require_relative "../errors"
require_relative "../frame/layout"
require_relative "../sizes"

module Tiercel
  module Serializers
    # Rails' ActiveSupport::MessagePack, with what it loses: docs/serializers.md.
    #
    # Rails' cache serializer also takes objects of any class that answers to
    # `from_msgpack_ext` or `json_create`: their payload names the class, and
    # loading calls that method. `any_class: false` leaves the types that Rails
    # and the application have registered.
    class MessagePack
      # Rails' extension type of what nobody has registered.
      UNREGISTERED = 127

      # @param any_class [Boolean] whether payloads may name the class that makes their objects
      def initialize(any_class: true)
        @any_class = any_class
      end

      # @return [MessagePack] for stores that do not trust the bytes they load
      def strict = MessagePack.new(any_class: false)

      # @return [Integer] in the frame's header
      def type = Frame::Layout::TYPE_MESSAGE_PACK

      # @param value [Object]
      # @return [String]
      # @raise [ActiveSupport::MessagePack::UnserializableObjectError] if it holds an object that neither Rails
      #   nor the application has registered
      # @raise [SerializationError] if writing it has no end
      def dump(value)
        rails.dump(value)
      rescue SystemStackError
        raise SerializationError, "#{value.class}: writing it has no end (a cycle, or before Rails 8.1 a " \
                                  "SafeBuffer). Choose serializer auto, or cache something plainer."
      end

      # Not CacheSerializer.load, which answers nil where a class is gone: that
      # would be read as a cached nil.
      #
      # @param bytes [String]
      # @return [Object]
      # @raise [MalformedFrame] if they are cut off or altered
      # @raise [ActiveSupport::MessagePack::MissingClassError] if a class is gone
      def load(bytes)
        LOADER.bind_call(rails, bytes)
      rescue ::MessagePack::UnpackError, EOFError, NoMemoryError, SystemStackError => error
        raise MalformedFrame, "a message_pack payload of #{Sizes.human(bytes.bytesize)} could not be loaded: " \
                              "#{error.class}"
      end

      LOADER = ActiveSupport::MessagePack::Serializer.instance_method(:load)
      private_constant :LOADER

      private

      # Made at the first use, as Rails does it: until then the application may register its types.
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
end
