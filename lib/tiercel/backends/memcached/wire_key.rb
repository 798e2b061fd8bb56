# frozen_string_literal: true

require "digest"

module Tiercel
  module Backends
    class Memcached < Backend
      # Keys in memcached's form: 1 to 250 bytes without spaces and control characters (memcached's protocol.txt).
      #
      # - A key in this form that has no "%" is sent unchanged.
      # - Any other key is percent-encoded as in Rails' MemCacheStore (control characters, space, "%" and all bytes
      #   from 7F), so that both find the same entries.
      # - If the result exceeds 250 bytes, bytes from 80 stay unencoded, which memcached permits.
      # - A key that is still too long becomes "%=", the beginning of the key, and a SHA-256. It cannot be decoded;
      #   only its beginning is recognizable.
      module WireKey
        LIMIT_BYTES = 250
        UNSAFE = /[\x00-\x20%\x7F-\xFF]/n
        UNSAFE_BUT_HIGH = /[\x00-\x20%\x7F]/n
        UNSAFE_ASCII = /[\x00-\x20%\x7F]/
        NEVER = /[\x00-\x20\x7F]/n
        ESCAPES = Array.new(256) { |byte| format("%%%02X", byte).b.freeze }.freeze
        DIGEST_MARK = "%=".b.freeze
        DIGEST_BYTES = 64
        LEAD_BYTES = LIMIT_BYTES - DIGEST_MARK.bytesize - DIGEST_BYTES

        class << self
          # @param key [String]
          # @return [String]
          def encode(key)
            return key if key.bytesize.between?(1, LIMIT_BYTES) && key.ascii_only? && !UNSAFE_ASCII.match?(key)
            raise ArgumentError, "key: expected a String that is not empty" if key.empty?
            key = key.b
            encoded = escape(key, UNSAFE)
            return encoded if encoded.bytesize <= LIMIT_BYTES
            encoded = escape(key, UNSAFE_BUT_HIGH)
            return encoded if encoded.bytesize <= LIMIT_BYTES
            "#{DIGEST_MARK}#{encoded.byteslice(0, LEAD_BYTES)}#{Digest::SHA256.hexdigest(key)}"
          end

          # @param wire_key [String]
          # @return [String, nil] the key, nil if it cannot be decoded
          def decode(wire_key)
            return if wire_key.start_with?(DIGEST_MARK)
            wire_key.include?("%") ? unescape(wire_key) : wire_key
          end

          # Returns whether {encode} can return this text, judged by the characters that a text command allows.
          #
          # @param wire_key [String]
          # @return [Boolean]
          def possible?(wire_key) = !NEVER.match?(wire_key.b)

          # Returns whether the key encoded in a wire key begins with these bytes.
          #
          # @param wire_key [String]
          # @param prefix [String] to match keys stored as digests: at most {LEAD_BYTES} when encoded
          # @return [Boolean]
          def prefix?(wire_key, prefix)
            key = decode(wire_key)
            return key.b.start_with?(prefix.b) if key
            lead = wire_key.byteslice(DIGEST_MARK.bytesize, LEAD_BYTES)
            lead.start_with?(escape(prefix.b, UNSAFE_BUT_HIGH))
          end

          # @param text [String] a text with %XX
          # @return [String] in binary
          def unescape(text) = text.b.gsub(/%(\h\h)/n) { Regexp.last_match(1).hex.chr }

          private

          def escape(key, unsafe) = key.gsub(unsafe) { |byte| ESCAPES[byte.ord] }
        end
      end
    end
  end
end
