# frozen_string_literal: true

require_relative "../../stores"
require_relative "../../serialization"
require_relative "../../compression"

module Tiercel
  module Lab
    module Contestants
      # A compressor without a store: `compressor:zstd`, `compressor:zstd#level=9`. Marshal serializes its payloads;
      # `compressor:zstd#serializer=auto` names another serializer.
      define "compressor", kind: :compressor, internal?: true do
        def check = library

        def initialize(text:, name: text, **)
          super
          return unless name == text
          @name = [place, options[:level], ("of #{options[:serializer]}" if options[:serializer])].compact.join(" ")
        end

        def build(_context) = library.build(**options.except(:serializer))

        # Serializes each value once: reading a record may change its serialized form.
        def payload(value) = (@payloads ||= {}.compare_by_identity)[value] ||= serialize(value)

        def tear_down(_subject, _names); end

        def stored_bytes(subject, _name, value) = subject.deflate(payload(value)).bytesize

        private

        # A String is its own payload; Marshal serializes other values.
        def serialize(value)
          return value.is_a?(String) ? value.b : Marshal.dump(value) unless options[:serializer]
          (@serializer ||= Serialization.fetch(options[:serializer]).build).dump(value).b
        end

        def library = Compression.fetch(place)
      end
    end
  end
end
