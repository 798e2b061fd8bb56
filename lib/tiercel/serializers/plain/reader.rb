# frozen_string_literal: true

require_relative "../../errors"
require_relative "writer"

module Tiercel
  module Serializers
    module Plain
      # Reads one msgpack value in the formats that {Packer} writes.
      #
      # Before it fills a container, it compares the number of elements still expected with the number of bytes left:
      # every element takes at least one byte.
      #
      # @private
      class Reader
        # Numbers by their first byte: the template for String#unpack1, and the number of bytes that follow.
        NUMBERS = { 0xCB => ["G", 8], 0xCC => ["C", 1], 0xCD => ["n", 2], 0xCE => ["N", 4], 0xCF => ["Q>", 8],
                    0xD0 => ["c", 1], 0xD1 => ["s>", 2], 0xD2 => ["l>", 4], 0xD3 => ["q>", 8] }.freeze
        # Values with a size, by their first byte: the kind, and template and number of bytes of the size.
        SIZED = { 0xC4 => [:binary, "C", 1], 0xC5 => [:binary, "n", 2], 0xC6 => [:binary, "N", 4],
                  0xC7 => [:extension, "C", 1], 0xC8 => [:extension, "n", 2], 0xC9 => [:extension, "N", 4],
                  0xD9 => [:string, "C", 1], 0xDA => [:string, "n", 2], 0xDB => [:string, "N", 4],
                  0xDC => [:array, "n", 2], 0xDD => [:array, "N", 4],
                  0xDE => [:hash, "n", 2], 0xDF => [:hash, "N", 4] }.freeze
        private_constant :NUMBERS, :SIZED

        # @param bytes [String] binary
        def initialize(bytes)
          @bytes = bytes
          @size = bytes.bytesize
          @at = 0
          @expected = 0 # elements of the enclosing containers not read yet
          @depth = 0
          @in_keys = 0
        end

        # @return [Object]
        # @raise [MalformedFrame]
        def read
          value = read_value
          malformed("bytes behind its end") unless @at == @size
          value
        end

        private

        def read_value
          first = @bytes.getbyte(@at) || malformed("cut off")
          @at += 1
          if first < 0x80 then first
          elsif first >= 0xE0 then first - 256
          elsif first >= 0xC0 then read_rest(first)
          elsif first >= 0xA0 then string(first & 0x1F)
          elsif first >= 0x90 then array(first & 0x0F)
          else hash(first & 0x0F)
          end
        end

        def read_rest(first)
          case first
          when 0xC0 then nil
          when 0xC2 then false
          when 0xC3 then true
          when 0xD4..0xD8 then extension(1 << (first - 0xD4))
          else read_number(first)
          end
        end

        def read_number(first)
          template, bytes = NUMBERS[first]
          return read_sized(first) unless template
          number = take(bytes).unpack1(template)
          # NaN is not equal to itself: as a Hash key it would be compared with all earlier keys.
          malformed("a key that is not equal to itself") if first == 0xCB && @in_keys.positive? && number.nan?
          number
        end

        def read_sized(first)
          kind, template, bytes = SIZED[first] || malformed("a format that plain data does not have")
          size = take(bytes).unpack1(template)
          case kind
          when :string then string(size)
          when :binary then take(size)
          when :array then array(size)
          when :hash then hash(size)
          else extension(size)
          end
        end

        def string(size) = take(size).force_encoding(Encoding::UTF_8)

        def extension(size)
          type = take(1).getbyte(0)
          case type
          when SYMBOL then symbol(take(size))
          when US_ASCII then take(size).force_encoding(Encoding::US_ASCII)
          else malformed("an extension type that plain data does not have")
          end
        end

        def symbol(name)
          name.force_encoding(Encoding::UTF_8)
          name.valid_encoding? ? name.to_sym : malformed("a Symbol that is not UTF-8")
        end

        def array(size)
          enter(size)
          array = Array.new(size) do
            @expected -= 1
            read_value
          end
          @depth -= 1
          array
        end

        def hash(size)
          enter(2 * size)
          hash = {}
          size.times do
            key = read_key
            @expected -= 1
            hash[key] = read_value
          end
          @depth -= 1
          hash
        end

        def read_key
          @expected -= 1
          @in_keys += 1
          key = read_value
          @in_keys -= 1
          key
        end

        def enter(elements)
          malformed("nested too deeply") if @depth >= Writer::MAX_DEPTH
          malformed("cut off") if elements > @size - @at - @expected
          @expected += elements
          @depth += 1
        end

        def take(size)
          malformed("cut off") if size > @size - @at
          taken = @bytes.byteslice(@at, size)
          @at += size
          taken
        end

        def malformed(reason) = raise(MalformedFrame, "a msgpack payload is malformed: #{reason}")
      end
    end
  end
end
