# frozen_string_literal: true

# Damage that the built-in compressors must detect, beyond the contract.
module CompressorDamage
  Malformed = Tiercel::MalformedFrame
  TEXT = Array.new(200) { |index| "<li class=\"row\">#{index}</li>\n" }.join.b.freeze

  def test_a_wrong_claim_is_refused
    bytes = compressor.deflate(TEXT)

    [TEXT.bytesize - 1, TEXT.bytesize + 1, 0].each do |claim|
      assert_raises(Malformed, "claim #{claim}") { compressor.inflate(bytes, inflated_bytes: claim, limit: 1_000_000) }
    end
  end

  def test_truncated_payloads_are_refused
    bytes = compressor.deflate(TEXT)

    bytes.bytesize.times do |size|
      assert_raises(Malformed, "the first #{size} bytes") do
        compressor.inflate(bytes.byteslice(0, size), inflated_bytes: TEXT.bytesize, limit: 1_000_000)
      end
    end
  end

  def test_flipped_bits_are_refused_or_leave_the_claimed_size
    bytes = compressor.deflate(TEXT)

    (bytes.bytesize * 8).times do |bit|
      flipped = bytes.dup
      flipped.setbyte(bit / 8, flipped.getbyte(bit / 8) ^ (1 << (bit % 8)))
      size = inflated_size(flipped)
      assert_includes [nil, TEXT.bytesize], size, "bit #{bit}"
    end
  end

  def test_it_inflates_without_a_claim
    assert_equal TEXT, compressor.inflate(compressor.deflate(TEXT))
  end

  def test_what_it_inflates_is_binary
    assert_equal Encoding::BINARY, compressor.inflate(compressor.deflate(TEXT)).encoding
  end

  def test_payloads_in_any_encoding_are_deflated
    ["é" * 1_000, "é".encode("UTF-16LE") * 1_000, "é".encode("Shift_JIS", undef: :replace) * 1_000].each do |payload|
      assert_equal payload.b, compressor.inflate(compressor.deflate(payload))
    end
  end

  private

  def inflated_size(bytes)
    compressor.inflate(bytes, inflated_bytes: TEXT.bytesize, limit: 1_000_000).bytesize
  rescue Malformed
    nil
  end
end
