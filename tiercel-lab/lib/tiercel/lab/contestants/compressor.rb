# frozen_string_literal: true

require_relative "../compression"
require_relative "../contestant"
require_relative "../serialization"

module Tiercel
  module Lab
    module Contestants
      # A compressor alone: `compressor:zstd`, `compressor:zstd#level=9`. Its payloads are what Marshal makes of values,
      # or another serializer: `compressor:zstd#serializer=auto`.
      class Compressor < Contestant
        def initialize(text:, name: text, **)
          super
          library # so that a wrong name is found while the command line is read
          if name == text
            @name = [place, options[:level], ("of #{options[:serializer]}" if options[:serializer])].compact.join(" ")
          end
        end

        def kind = :compressor

        def build(_context) = library.build(**options.except(:serializer))

        # Made once for each value: what a serializer makes of a record may change when the record is read.
        #
        # @param value [Object]
        # @return [String] binary
        def payload(value) = (@payloads ||= {}.compare_by_identity)[value] ||= serialize(value)

        def tear_down(_subject, _names); end

        def stored_bytes(subject, _name, value) = subject.deflate(payload(value)).bytesize

        def configuration = nil

        private

        def serialize(value)
          return Compression::Payload.of(value) unless options[:serializer]
          (@serializer ||= Serialization.fetch(options[:serializer]).build).dump(value).b
        end

        def library = Compression.fetch(place)
      end

      register "compressor", Compressor
    end
  end
end
