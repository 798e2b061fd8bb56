# frozen_string_literal: true

module Tiercel
  # The pattern of `delete_matched`: matches keys that begin with a prefix and match a Regexp.
  #
  # @private
  class KeyPattern
    # u8 options of the Regexp, u8 whether there is a prefix, u16 length of the prefix in bytes; then the prefix, then
    # the Regexp's source.
    HEADER = "CCS<"
    HEADER_BYTES = 4
    OPTIONS = Regexp::IGNORECASE | Regexp::EXTENDED | Regexp::MULTILINE
    private_constant :HEADER, :HEADER_BYTES, :OPTIONS

    # @param bytes [String] the result of {#dump}
    # @return [KeyPattern, nil] nil if the bytes are not a pattern
    def self.load(bytes)
      options, has_prefix, prefix_bytes = bytes.unpack(HEADER)
      return if prefix_bytes.nil? || HEADER_BYTES + prefix_bytes > bytes.bytesize
      prefix = bytes.byteslice(HEADER_BYTES, prefix_bytes).force_encoding(Encoding::UTF_8)
      source = bytes.byteslice((HEADER_BYTES + prefix_bytes)..).force_encoding(Encoding::UTF_8)
      new((prefix if has_prefix == 1), Regexp.new(source, options & OPTIONS))
    rescue RegexpError, ArgumentError
      nil
    end

    # @return [String, nil] the prefix of the keys
    attr_reader :prefix
    # @return [Regexp] matches whole keys
    attr_reader :regexp

    # @param prefix [String, nil]
    # @param regexp [Regexp] matches whole keys
    def initialize(prefix, regexp)
      @prefix = prefix
      @regexp = regexp
    end

    # @param key [String] any bytes; invalid UTF-8 in it matches as U+FFFD
    # @return [Boolean]
    def match?(key)
      text = key.dup.force_encoding(Encoding::UTF_8)
      @regexp.match?(text.valid_encoding? ? text : text.scrub)
    end

    # @return [String, nil] nil for a Regexp with an encoding other than UTF-8, or a prefix of 64 KB and more
    def dump
      source = @regexp.source
      prefix_bytes = @prefix.to_s.bytesize
      return unless [Encoding::UTF_8, Encoding::US_ASCII].include?(source.encoding) && prefix_bytes < 1 << 16
      [@regexp.options & OPTIONS, @prefix ? 1 : 0, prefix_bytes].pack(HEADER) << @prefix.to_s.b << source.b
    end
  end
end
