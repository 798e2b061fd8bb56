# frozen_string_literal: true

require_relative "../compression"
require_relative "../contestant"
require_relative "../serialization"

module Tiercel
  module Lab
    module Contestants
      # A store with any serializer and compressor: `combined:mem_cache_store#serializer=auto,compressor=zstd`.
      class Combined < Contestant
        # Those of the lab's that Tiercel has itself.
        TIERCEL_SERIALIZERS = { "marshal" => :marshal, "auto" => :auto, "as_message_pack" => :message_pack,
                                "as_json" => :as_json }.freeze
        TIERCEL_COMPRESSORS = { "zlib" => :zlib, "brotli" => :brotli, "zstd" => :zstd, "snappy" => :snappy,
                                "lz4_flex" => :lz4 }.freeze

        def initialize(text:, name: text, **)
          super
          library
          compressor
          @name = "#{place} #{library.name} #{compressor.name}" if name == text
        end

        # @return [Serialization::Library]
        def library = Serialization.fetch(options.fetch(:serializer, Serialization::BASELINE))

        # @return [Compression::Library]
        def compressor = Compression.fetch(options.fetch(:compressor, "none"))

        # @return [Contestant] the store as it is without both
        def inner = @inner ||= Contestants.parse(place)

        %i[medium clock servers gems bundle foreign? keeps?].each do |fact|
          define_method(fact) { inner.public_send(fact) }
        end

        # A serializer that knows no records has to say so while it is built, not as a store's miss.
        def build(context)
          (configured || raise(CannotRun, "#{place} cannot be built with a serializer")).build(context)
        end

        def tear_down(subject, names) = inner.tear_down(subject, names)

        def stored_bytes(subject, name, value) = inner.stored_bytes(subject, name, value)

        # @return [Hash] also what it is made of
        def describe
          super.merge("store" => place, "serializer" => library.name, "compressor" => compressor.name)
        end

        private

        def configured
          @inner.class.new(text: place, place: inner.place, options: inner.options.merge(layers)) if inner
        end

        def layers
          with = tiercel? ? [TIERCEL_SERIALIZERS[library.name], TIERCEL_COMPRESSORS[compressor.name]] : []
          serializer = library.build # loads what it needs, whoever calls it
          squeezed = compressor.name != "none"
          { serializer: with.first || serializer, compress: squeezed,
            **(squeezed ? { compressor: with.last || compressor.build } : {}) }
        end

        def tiercel? = place.start_with?("tiercel")
      end

      register "combined", Combined
    end
  end
end
