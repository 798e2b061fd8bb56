# frozen_string_literal: true

require_relative "../compression"
require_relative "../serialization"
require_relative "raw_socket"

module Tiercel
  module Lab
    module Contestants
      # What a serializer and a compressor make of a value, through a raw socket:
      # `wire:memcached#serializer=auto,compressor=zstd`.
      class Wire < RawSocket
        CLIENTS = { "memcached" => RawSocket::MemcachedClient, "redis" => RawSocket::RedisClient }.freeze

        def initialize(text:, name: text, **)
          super
          raise UsageError, "#{text}: expected wire:memcached or wire:redis" unless CLIENTS.key?(place)
          @name = "wire #{place} #{options[:serializer]} #{options[:compressor]}" if name == text
        end

        def kind = :wire

        def servers = [place.to_sym]

        def subject = CLIENTS.fetch(place)

        # @param value [Object]
        # @return [String] binary
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

      register "wire", Wire
    end
  end
end
