# frozen_string_literal: true

module Tiercel
  module Serializers
    module Plain
      # Writes a value into a msgpack packer if the value is plain data.
      #
      # Marshal preserves the identity of an object that occurs twice, msgpack does not; such an object is therefore
      # not plain. Exceptions are objects whose identity is invisible: frozen Strings (up to a limit, so that the
      # payload stays bounded) and empty frozen Arrays and Hashes.
      #
      # @private
      class Writer
        # Maximum nesting of Arrays and Hashes.
        MAX_DEPTH = 100
        # Frozen Strings up to this size may occur repeatedly.
        SHARED_STRING_BYTES = 1024
        INTEGERS = (-(2**63)..((2**64) - 1))

        # @param packer [Packer]
        def initialize(packer)
          @packer = packer
          @seen = {}.compare_by_identity
          @in_keys = 0
        end

        # @param value [Object]
        # @param depth [Integer] number of enclosing Arrays and Hashes
        # @return [Object] truthy if the value was written, falsy if it is not plain; the packer then contains a part
        #   of it
        # @raise [RuntimeError] if an Array or Hash changes during the dump, as Marshal raises it
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

        # NaN in a key is not plain: it is not equal to itself, so a Hash would compare it with all earlier keys.
        def write_key(key, depth)
          @in_keys += 1
          write(key, depth) && @in_keys -= 1
        end

        # The header with the number of elements is already written.
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

        # Rejects subclasses and objects with singleton methods or instance variables. (Only the C form detects an
        # object extended with an empty module.)
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
