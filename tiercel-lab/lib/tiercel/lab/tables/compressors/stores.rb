# frozen_string_literal: true

require_relative "../../stores"
require_relative "../../serialization"
require_relative "../../compression"

module Tiercel
  module Lab
    module Contestants
      # A compressor alone: `compressor:zstd`, `compressor:zstd#level=9`. Its payloads are what Marshal makes of values,
      # or another serializer: `compressor:zstd#serializer=auto`.
      define "compressor", kind: :compressor, internal?: true do
        def check = library

        def initialize(text:, name: text, **)
          super
          return unless name == text
          @name = [place, options[:level], ("of #{options[:serializer]}" if options[:serializer])].compact.join(" ")
        end

        def build(_context) = library.build(**options.except(:serializer))

        # Made once for each value: what a serializer makes of a record may change when the record is read.
        def payload(value) = (@payloads ||= {}.compare_by_identity)[value] ||= serialize(value)

        def tear_down(_subject, _names); end

        def stored_bytes(subject, _name, value) = subject.deflate(payload(value)).bytesize

        private

        # A String's own bytes, of anything else what Marshal makes of it.
        def serialize(value)
          return value.is_a?(String) ? value.b : Marshal.dump(value) unless options[:serializer]
          (@serializer ||= Serialization.fetch(options[:serializer]).build).dump(value).b
        end

        def library = Compression.fetch(place)
      end
    end
  end
end
