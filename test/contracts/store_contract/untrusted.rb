# frozen_string_literal: true

require "json"
require "zlib"

module Tiercel
  module Contracts
    module StoreContract
      # `marshal: false`: another program's bytes under a key never cause a call of a class that they name.
      module Untrusted
        # Records each attempt to create an object from the bytes.
        class Planted
          CALLS = []

          class << self
            %i[json_create from_msgpack_ext _load].each do |name|
              define_method(name) { |*| CALLS << name && allocate }
            end
          end

          def to_msgpack_ext = ""
          def as_json(*) = {}
          def _dump(_depth) = ""
        end

        # Records the same attempts without `from_msgpack_ext`, which Rails' MessagePack prefers to `json_create`.
        class PlantedAsJSON
          def self.json_create(*) = Planted.json_create

          def as_json(*) = {}
        end

        SERIALIZERS = %i[auto message_pack as_json].freeze

        def test_no_planted_payload_calls_what_it_names
          payloads = Untrusted.payloads
          SERIALIZERS.each do |serializer|
            careful = new_store(marshal: false, serializer: serializer)
            payloads.each do |name, bytes|
              careful.backend.set(key_of("name"), bytes)
              Planted::CALLS.clear
              reports { Untrusted.ask(careful) }
              assert_empty Planted::CALLS, "#{name}, read with #{serializer}"
            end
          end
        end

        def test_the_same_payloads_are_read_where_marshal_is_allowed
          Untrusted.payloads.each do |name, bytes|
            next if name.end_with?("json") # no reader of ours makes objects of JSON
            store.backend.set(key_of("name"), bytes)
            Planted::CALLS.clear
            reports { store.read("name") }
            refute_empty Planted::CALLS, name
          end
        end

        def test_payloads_of_rails_are_misses_without_marshal
          payload = ActiveSupport::Cache::Coder.new(Untrusted.rails(:marshal_7_1), Zlib)
                                               .dump(ActiveSupport::Cache::Entry.new("text"))
          careful = new_store(marshal: false)
          careful.backend.set(key_of("name"), payload)
          assert_equal 1, reports { assert_nil careful.read("name") }.size
          store.backend.set(key_of("name"), payload)
          assert_equal "text", store.read("name")
        end

        def test_a_coder_that_would_decide_alone_is_refused
          error = assert_raises(ConfigurationError) { new_store(marshal: false, coder: Marshal) }
          assert_match(/marshal: false and coder:/, error.message)
          assert new_store(marshal: false, coder: nil)
        end

        def test_marshal_is_not_used_at_all
          [{}, { coder: nil }].each do |options|
            careful = new_store(marshal: false, compress: true, compress_threshold: 1, **options)
            calls = []
            TracePoint.new(:c_call) { |point| calls << point.method_id if Marshal.equal?(point.self) }.enable do
              careful.write("name", { "a" => ["b" * 2_000] })
              careful.write_multi({ "other" => { "a" => ["b" * 2_000] } })
              careful.read("name")
            end
            assert_empty calls, options.inspect
          end
        end

        def test_serializers_that_fall_back_to_marshal_are_refused_or_made_strict
          %i[marshal_7_0 marshal_7_1].each do |name|
            [name, Untrusted.rails(name)].each do |serializer|
              assert_raises(ConfigurationError) { new_store(marshal: false, serializer: serializer) }
            end
          end
          careful = in_format(7.1) { new_store(marshal: false, serializer: Untrusted.rails(:message_pack)) }
          Planted::CALLS.clear
          Untrusted.payloads.each_value do |bytes|
            careful.backend.set(key_of("name"), bytes)
            reports { careful.read("name") }
          end
          assert_empty Planted::CALLS
        end

        class << self
          # @return [void] decodes a value in every possible way
          def ask(store)
            store.read("name")
            store.read_multi("name")
            store.fetch("name", race_condition_ttl: 5)
            store.exist?("name")
            store.write("name", 1, unless_exist: true)
            store.increment("name")
          end

          # @return [Hash{String => String}] payloads that name {Planted}, in every format that a store of ours may
          #   read
          def payloads = of_rails.merge(of_ours)

          def rails(name) = ActiveSupport::Cache::SerializerWithFallback[name]

          private

          def of_rails
            entry = ActiveSupport::Cache::Entry.new(Planted.new)
            as_json = ActiveSupport::Cache::Entry.new(PlantedAsJSON.new)
            large = ActiveSupport::Cache::Entry.new([Planted.new, "0" * 500])
            packed = coder(:message_pack)
            { "7.1, MessagePack" => packed.dump(entry), "7.1, MessagePack, json_create" => packed.dump(as_json),
              "7.1, MessagePack, zlib" => packed.dump_compressed(large, 1),
              "7.1, Marshal" => coder(:marshal_7_1).dump(entry),
              "7.1, Marshal, zlib" => coder(:marshal_7_1).dump_compressed(large, 1),
              "7.1, Marshal in the version" => in_the_version,
              "7.0" => rails(:marshal_7_0).dump(entry), "7.0, zlib" => rails(:marshal_7_0).dump_compressed(large, 1),
              "6.1" => Marshal.dump(entry), "6.1, by Dalli" => Marshal.dump(rails(:marshal_7_0).dump(entry)) }
          end

          def coder(name) = ActiveSupport::Cache::Coder.new(rails(name), Zlib)

          def in_the_version
            version = Marshal.dump(Planted.new)
            ["\x00\x11".b, [0x02, -1.0, version.bytesize].pack("CEl<"), version, "text"].join
          end

          def of_ours
            layout = Frame::Layout
            json = JSON.generate({ "json_class" => Planted.name, "data" => {} })
            { "a frame, Marshal" => frame(layout::TYPE_MARSHAL, Marshal.dump(Planted.new)),
              "a frame, Marshal, zlib" => deflated(layout::TYPE_MARSHAL, Marshal.dump(Planted.new)),
              "a frame, MessagePack" => frame(layout::TYPE_MESSAGE_PACK, pack(Planted.new)),
              "a frame, MessagePack, inside of an Array" => frame(layout::TYPE_MESSAGE_PACK, pack([[Planted.new]])),
              "a frame, MessagePack, zlib" => deflated(layout::TYPE_MESSAGE_PACK, pack(Planted.new)),
              "a frame, json" => frame(layout::TYPE_JSON, json),
              "a frame, as_json" => frame(layout::TYPE_AS_JSON, json) }
          end

          def pack(value) = ActiveSupport::MessagePack::CacheSerializer.dump(value)

          def frame(type, payload) = Frame.build(type, payload, checksum: true)

          def deflated(type, payload)
            Frame.build(type, Zlib.deflate(payload), compressor: Frame::Layout::COMPRESSOR_ZLIB, checksum: true,
                                                     parts: Frame::Parts.encode(inflated_bytes: payload.bytesize))
          end
        end
      end
    end
  end
end
