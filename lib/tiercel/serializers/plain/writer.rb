# frozen_string_literal: true

module Tiercel
  module Serializers
    module Plain
      # Writes a value into a msgpack packer, as long as it turns out to be
      # plain data.
      #
      # Objects that occur twice are one object in what Marshal loads, and
      # would be two in what msgpack loads, so they are not plain. Exempt are
      # those that nobody can tell apart: frozen Strings (up to a size, so that
      # the payload cannot grow without bound) and empty frozen Arrays and Hashes.
      #
      # @private
      class Writer
        # How deep Arrays and Hashes may be nested.
        MAX_DEPTH = 100
        # Frozen Strings up to this size may occur more than once.
        SHARED_STRING_BYTES = 1024
        INTEGERS = (-(2**63)..((2**64) - 1))

        # @param packer [Packer]
        def initialize(packer)
          @packer = packer
          @seen = {}.compare_by_identity
          @in_keys = 0
        end

        # @param value [Object]
        # @param depth [Integer] how many Arrays and Hashes it is in
        # @return [Object] truthy if it was written, falsy if it is not plain; the packer then holds a part of it
        # @raise [RuntimeError] if an Array or Hash changes meanwhile, as Marshal raises it
        def write(value, depth)
          case value
          when String then write_string(value)
          when Symbol then write_symbol(value)
          when Integer then INTEGERS.cover?(value) && @packer.write_int(value)
          when Float then !(@in_keys.positive? && value.nan?) && @packer.write_float(value)
          when nil then @packer.write_nil
          when true then @packer.write_true
          when false then @packer.write_false
          when Hash then write_hash(value, depth)
          when Array then write_array(value, depth)
          end
        end

        private

        def write_string(value)
          return unless bare?(value, String)
          return unless (value.frozen? && value.bytesize <= SHARED_STRING_BYTES) || first_time?(value)
          case value.encoding
          when Encoding::UTF_8 then @packer.write_string(value)
          when Encoding::BINARY then @packer.write_bin(value)
          when Encoding::US_ASCII then @packer.write_ext(US_ASCII, value)
          end
        end

        def write_symbol(value)
          return unless value.encoding == Encoding::US_ASCII || value.encoding == Encoding::UTF_8
          @packer.write_ext(SYMBOL, value.name)
        end

        def write_array(value, depth)
          return unless bare?(value, Array) && enter?(value, depth)
          @packer.write_array_header(size = value.size)
          plain = value.all? { |element| write(element, depth + 1) && size -= 1 }
          plain && unchanged(value, size)
        end

        def write_hash(value, depth)
          return unless bare?(value, Hash) && nothing_but_pairs?(value) && enter?(value, depth)
          @packer.write_map_header(size = value.size)
          plain = value.all? { |key, element| write_key(key, depth + 1) && write(element, depth + 1) && size -= 1 }
          plain && unchanged(value, size)
        end

        # NaN in a key is not plain: it is not equal to itself, so that each is held against all those before it.
        def write_key(key, depth)
          @in_keys += 1
          write(key, depth) && @in_keys -= 1
        end

        # The header that is written already says how many there are.
        def unchanged(container, missing)
          return true if missing.zero?
          raise "#{container.class} modified during dump: #{missing.abs} too #{missing.positive? ? "few" : "many"}"
        end

        def nothing_but_pairs?(hash)
          hash.default.nil? && !hash.default_proc && !hash.compare_by_identity? && !Hash.ruby2_keywords_hash?(hash)
        end

        def enter?(container, depth)
          depth < MAX_DEPTH && ((container.frozen? && container.empty?) || first_time?(container))
        end

        # Neither a subclass nor with methods or instance variables of its own.
        # (A module without a single method that the object was extended with
        # is not seen here, only by the C form.)
        def bare?(value, of)
          value.instance_of?(of) && value.instance_variables.empty? && value.singleton_methods.empty?
        end

        def first_time?(value)
          return false if @seen.key?(value)
          @seen[value] = true
        end
      end
    end
  end
end
