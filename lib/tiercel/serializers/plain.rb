# frozen_string_literal: true

require "msgpack"
require_relative "../errors"

module Tiercel
  module Serializers
    # Plain data in msgpack: nil, booleans, Integers of 64 bits, Floats,
    # Strings in UTF-8 and binary, Symbols, and Arrays and Hashes of these
    # that have nothing else about them. docs/serializers.md says it in full.
    #
    # This is the pure-Ruby form of ext/tiercel/codec; both write the same
    # bytes. Symbols are extension type 0.
    module Plain
      SYMBOL = 0
      # How deep Arrays and Hashes may be nested. Deeper ones are not plain.
      MAX_DEPTH = 100
      # Frozen Strings up to this size may occur more than once; see {.plain?}.
      SHARED_STRING_BYTES = 1024
      INTEGERS = (-(2**63)..((2**64) - 1))

      FACTORY = MessagePack::Factory.new.tap do |factory|
        factory.register_type(SYMBOL, Symbol, packer: :name, unpacker: ->(bytes) { load_symbol(bytes) })
      end
      POOL = FACTORY.freeze.pool(16)
      private_constant :FACTORY, :POOL

      class << self
        # @return [Module] the C extension's form where it is built, else this one
        def default = self

        # @param value [Object]
        # @return [String, nil] msgpack, nil if the value is not plain
        def dump(value)
          POOL.dump(value) if plain?(value, 0, {}.compare_by_identity)
        end

        # @param bytes [String]
        # @return [Object]
        # @raise [MalformedFrame] if they are not one msgpack object of those that {dump} writes
        def load(bytes)
          POOL.load(bytes)
        rescue MessagePack::UnpackError, EOFError, EncodingError, ArgumentError, RangeError, NoMemoryError => error
          raise MalformedFrame, "a msgpack payload of #{bytes.bytesize} bytes could not be loaded: #{error.class}"
        end

        # @private
        def load_symbol(bytes) = bytes.force_encoding(Encoding::UTF_8).to_sym

        private

        # Objects that occur twice are shared in what Marshal loads, and would
        # be two objects in what msgpack loads, so they are not plain.
        # Exempt is what nobody can tell apart: frozen Strings (up to a size, so
        # that the payload cannot grow without bound) and empty frozen Arrays and Hashes.
        def plain?(value, depth, seen)
          case value
          when nil, true, false, Float then true
          when Integer then INTEGERS.cover?(value)
          when String then plain_string?(value, seen)
          when Symbol then value.encoding == Encoding::US_ASCII || value.encoding == Encoding::UTF_8
          when Array then plain_array?(value, depth, seen)
          when Hash then plain_hash?(value, depth, seen)
          else false
          end
        end

        def plain_string?(value, seen)
          bare?(value, String) &&
            (value.encoding == Encoding::UTF_8 || value.encoding == Encoding::BINARY) &&
            ((value.frozen? && value.bytesize <= SHARED_STRING_BYTES) || first_time?(value, seen))
        end

        def plain_array?(value, depth, seen)
          bare?(value, Array) && depth < MAX_DEPTH && ((value.frozen? && value.empty?) || first_time?(value, seen)) &&
            value.all? { |element| plain?(element, depth + 1, seen) }
        end

        def plain_hash?(value, depth, seen)
          bare?(value, Hash) && depth < MAX_DEPTH && ((value.frozen? && value.empty?) || first_time?(value, seen)) &&
            value.default.nil? && !value.default_proc && !value.compare_by_identity? &&
            !Hash.ruby2_keywords_hash?(value) &&
            value.all? { |key, element| plain?(key, depth + 1, seen) && plain?(element, depth + 1, seen) }
        end

        # Neither a subclass nor with methods or instance variables of its own.
        # (A module without a single method that the object was extended with
        # is not seen here, only by the C form.)
        def bare?(value, of)
          value.instance_of?(of) && value.instance_variables.empty? && value.singleton_methods.empty?
        end

        def first_time?(value, seen)
          return false if seen.key?(value)
          seen[value] = true
        end
      end
    end
  end
end
