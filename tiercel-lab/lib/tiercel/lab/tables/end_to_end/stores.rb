# frozen_string_literal: true

require_relative "../compressors/stores"

module Tiercel
  module Lab
    module Contestants
      # A store with any serializer and compressor: `combined:mem_cache_store#serializer=auto,compressor=zstd`.
      define "combined", internal?: true do
        def check = [library, compressor, inner]

        def initialize(text:, name: text, **)
          super
          @name = "#{place} #{library.name} #{compressor.name}" if name == text
        end

        def library = Serialization.fetch(options.fetch(:serializer, Serialization::BASELINE))

        def compressor = Compression.fetch(options.fetch(:compressor, "none"))

        def inner = @inner ||= Contestants.parse(place)

        %i[medium clock servers gems bundle foreign? keeps?].each do |fact|
          define_method(fact) { inner.public_send(fact) }
        end

        # A library may load more when it is built, such as Active Record.
        def load_gems = [inner.load_gems, library.build, compressor.build]

        # A serializer that cannot load records must fail while it is built. Otherwise the store would report a miss.
        def build(context)
          inner.class.new(text: place, place: inner.place, options: inner.options.merge(layers)).build(context)
        end

        def tear_down(subject, names) = inner.tear_down(subject, names)

        def stored_bytes(subject, name, value) = inner.stored_bytes(subject, name, value)

        def describe
          super.merge("store" => place, "serializer" => library.name, "compressor" => compressor.name)
        end

        private

        # Tiercel uses its own form of a serializer or compressor, if it has one.
        def layers
          own = place.start_with?("tiercel")
          serializer = library.build # loads its own requirements
          squeezed = compressor.name != "none"
          { serializer: (TIERCEL_SERIALIZERS[library.name] if own) || serializer, compress: squeezed,
            **(squeezed ? { compressor: (TIERCEL_COMPRESSORS[compressor.name] if own) || compressor.build } : {}) }
        end
      end

      TIERCEL_SERIALIZERS = { "marshal" => :marshal, "auto" => :auto, "as_message_pack" => :message_pack,
                              "as_json" => :as_json }.freeze
      TIERCEL_COMPRESSORS = { "zlib" => :zlib, "brotli" => :brotli, "zstd" => :zstd, "snappy" => :snappy,
                              "lz4_flex" => :lz4 }.freeze

      # A value, serialized and compressed, through a raw socket:
      # `wire:memcached#serializer=auto,compressor=zstd`.
      define "wire", like: RawContestant, kind: :wire, places: %w[memcached redis], internal?: true do
        def initialize(text:, name: text, **)
          super
          @name = "wire #{place} #{options[:serializer]} #{options[:compressor]}" if name == text
        end

        def servers = [place.to_sym]

        def payload(value)
          @serializer ||= Serialization.fetch(options.fetch(:serializer)).build
          @compressor ||= Compression.fetch(options.fetch(:compressor)).build
          @compressor.deflate(@serializer.dump(value).b).b
        end

        def stored_bytes(_subject, _name, value) = payload(value).bytesize

        def describe
          super.merge("store" => place, "serializer" => options[:serializer], "compressor" => options[:compressor])
        end
      end
    end
  end
end
