# frozen_string_literal: true

module Tiercel
  # The default. The C extension writes plain data as msgpack; this serializer writes every other value with Marshal, so
  # the store preserves everything that Marshal preserves.
  class Serializers::Auto < Serializers::Marshal
    # @return [Auto] for stores that load untrusted bytes: only plain data
    def strict = Strict.new

    # The form without Marshal.
    class Strict < self
      # @raise [SerializationError]
      def dump(value)
        raise SerializationError, "#{value.class}: not plain data (nil, booleans, Integers of 64 bits, Floats, " \
                                  "Strings in UTF-8 or binary, Symbols, Arrays and Hashes of these), and " \
                                  "marshal: false forbids anything else. Cache plain data or choose a serializer."
      end
    end
  end
end
