# frozen_string_literal: true

require "active_support"
require "active_support/message_pack"
require_relative "../errors"
require_relative "../frame/layout"

module Tiercel
  module Serializers
    # Rails' ActiveSupport::MessagePack, with what it loses: docs/serializers.md.
    class MessagePack
      # @return [Integer] in the frame's header
      def type = Frame::Layout::TYPE_MESSAGE_PACK

      # @param value [Object]
      # @return [String]
      # @raise [ActiveSupport::MessagePack::UnserializableObjectError] if it holds an object that neither Rails
      #   nor the application has registered
      # @raise [SerializationError] if writing it has no end
      def dump(value)
        ActiveSupport::MessagePack::CacheSerializer.dump(value)
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
        LOADER.bind_call(ActiveSupport::MessagePack::CacheSerializer, bytes)
      rescue ::MessagePack::UnpackError, EOFError, NoMemoryError, SystemStackError => error
        raise MalformedFrame, "a message_pack payload of #{bytes.bytesize} bytes could not be loaded: #{error.class}"
      end

      LOADER = ActiveSupport::MessagePack::Serializer.instance_method(:load)
      private_constant :LOADER
    end
  end
end
