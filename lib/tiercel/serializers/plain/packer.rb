# frozen_string_literal: true

module Tiercel
  module Serializers
    module Plain
      # Writes plain data in msgpack's formats (specification on msgpack.org), each value in its shortest form.
      #
      # @private
      class Packer
        # @return [String] the bytes written so far
        attr_reader :bytes

        def initialize
          @bytes = String.new(encoding: Encoding::BINARY)
        end

        def write_nil = @bytes << 0xC0
        def write_false = @bytes << 0xC2
        def write_true = @bytes << 0xC3
        def write_float(value) = @bytes << [0xCB, value].pack("CG")

        def write_int(value) = value.negative? ? write_negative(value) : write_positive(value)

        def write_array_header(size)
          return @bytes << (0x90 | size) if size < 16
          @bytes << (size < 65_536 ? [0xDC, size].pack("Cn") : [0xDD, size].pack("CN"))
        end

        def write_map_header(size)
          return @bytes << (0x80 | size) if size < 16
          @bytes << (size < 65_536 ? [0xDE, size].pack("Cn") : [0xDF, size].pack("CN"))
        end

        def write_string(value)
          size = value.bytesize
          size < 32 ? @bytes << (0xA0 | size) : write_size(size, 0xD9)
          append(value)
        end

        def write_bin(value)
          write_size(value.bytesize, 0xC4)
          append(value)
        end

        # Sizes of extensions that have their own first byte.
        FIXED = { 1 => 0xD4, 2 => 0xD5, 4 => 0xD6, 8 => 0xD7, 16 => 0xD8 }.freeze
        private_constant :FIXED

        def write_ext(type, value)
          first = FIXED[value.bytesize]
          first ? @bytes << first : write_size(value.bytesize, 0xC7)
          @bytes << type
          append(value)
        end

        private

        def append(value) = @bytes << (value.encoding == Encoding::BINARY ? value : value.b)

        # @param first [Integer] the first byte of the form with a one-byte size; the forms with two and four bytes
        #   follow
        def write_size(size, first)
          @bytes << if size < 256 then [first, size].pack("CC")
                    elsif size < 65_536 then [first + 1, size].pack("Cn")
                    else [first + 2, size].pack("CN")
                    end
        end

        def write_positive(value)
          @bytes << if value < 128 then value
                    elsif value < 256 then [0xCC, value].pack("CC")
                    elsif value < 65_536 then [0xCD, value].pack("Cn")
                    elsif value < 2**32 then [0xCE, value].pack("CN")
                    else [0xCF, value].pack("CQ>")
                    end
        end

        def write_negative(value)
          @bytes << if value >= -32 then value & 0xFF
                    elsif value >= -128 then [0xD0, value].pack("Cc")
                    elsif value >= -32_768 then [0xD1, value].pack("Cs>")
                    elsif value >= -2**31 then [0xD2, value].pack("Cl>")
                    else [0xD3, value].pack("Cq>")
                    end
        end
      end
    end
  end
end
