# frozen_string_literal: true

require_relative "../compression"
require_relative "../contestant"

module Tiercel
  module Lab
    module Contestants
      # A compressor alone: `compressor:zstd`, `compressor:zstd#level=9`.
      class Compressor < Contestant
        def initialize(text:, name: text, **)
          super
          library # so that a wrong name is found while the command line is read
          @name = [place, options[:level]].compact.join(" ") if name == text
        end

        def kind = :compressor

        def build(_context) = library.build(**options)

        def tear_down(_subject, _names); end

        def stored_bytes(subject, _name, value) = subject.deflate(Compression::Payload.of(value)).bytesize

        def configuration = nil

        private

        def library = Compression.fetch(place)
      end

      register "compressor", Compressor
    end
  end
end
