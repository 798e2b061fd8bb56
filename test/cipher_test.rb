# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"
require "openssl"

class CipherTest < Tiercel::TestCase
  OLD, NEW = %w[old! new!].map { |name| name * 8 } # as short as may be

  def coder(*keys, **options)
    Tiercel::Coder.new(compressor: nil, cipher: Tiercel::Cipher.build({ keys:, **options }))
  end

  def plain = Tiercel::Coder.new(compressor: nil)

  def dump(coder, value = "a secret", key: "key") = coder.dump_value(value, 4e9, "v1", false, 0, key)

  def load(coder, bytes, key: "key") = coder.load(bytes, key)&.value

  def refused(...)
    assert_nil load(...) # a placeholder's type is a miss
  rescue Tiercel::MalformedFrame, ActiveSupport::Cache::DeserializationError
    pass
  end

  def test_a_value_comes_back_and_is_not_in_the_bytes
    ["a secret", "", "é", { "a" => [1, nil, "a secret"] }, Object, 1..2].each do |value|
      bytes = dump(coder(NEW), value)
      assert_equal value, load(coder(NEW), bytes)
      assert_equal value, coder(NEW).load_value(bytes, 0.0, "v1", "key")
      refute_includes bytes, "a secret"
      refute_equal bytes, dump(coder(NEW), value), "each write has its own nonce"
    end
  end

  def test_encryption_comes_after_compression
    small = Tiercel::Coder.new(compressor: :zlib, cipher: Tiercel::Cipher.build({ keys: [NEW] }))
    bytes = small.dump_value("x" * 10_000, nil, nil, true, 100, "key")
    assert_operator bytes.bytesize, :<, 500
    assert_equal "x" * 10_000, load(small, bytes)
  end

  # The frame with the check of its header and its checksum computed anew.
  def checked(bytes)
    return bytes if bytes.bytesize < 24
    bytes = bytes.dup
    bytes[20, 4] = [Zlib.crc32(bytes.byteslice(24..))].pack("L<") if bytes.getbyte(4).anybits?(1)
    bytes.setbyte(5, 0)
    fold = bytes.byteslice(0, 24).each_byte.inject(:^)
    bytes.setbyte(5, fold ^ Tiercel::Frame::Layout::HEADER_CHECK)
    bytes
  end

  def test_keys_rotate
    old = dump(coder(OLD))
    both = coder(NEW, OLD)
    assert_equal "a secret", load(both, old)
    assert_equal "a secret", load(coder(NEW), dump(both)), "the first key encrypts"
    refused(coder(NEW), old)
  end

  # With the right checksum: an attacker can compute it.
  def test_every_changed_byte_of_a_hundred_frames_is_refused
    random = Random.new(7)
    coder = coder(NEW)
    100.times do |count|
      version = [nil, "v#{count}"].sample(random:)
      bytes = coder.dump_value(random.bytes(random.rand(40)), 4e9 + count, version, false, 0, "key")
      bytes = coder.with_parts(bytes, "key", tags: { "tag/#{count}" => [count].pack("Q<") }) if count.odd?
      # The second time begins with 08, the number of a part that is not authenticated.
      bytes = coder.with_parts(bytes, "key", stale: [5e9, 6e9 + (2**-17)], exclusive: true) if (count % 5).zero?
      refute_nil load(coder, bytes)
      bytes.bytesize.times do |at|
        damaged = bytes.dup
        damaged.setbyte(at, damaged.getbyte(at) ^ (1 << random.rand(8)))
        refused(coder, damaged)
        refused(coder, checked(damaged)) unless at.between?(4, 5) || at.between?(20, 23) # the checks themselves
      end
      refused(coder, checked(bytes.dup.tap { |plain| plain.setbyte(4, 0) }))
      [1, 23, 24, bytes.bytesize / 2, bytes.bytesize - 1].each { |size| refused(coder, bytes.byteslice(0, size)) }
    end
  end

  def test_a_value_cannot_be_moved_or_read_as_another_type_or_live_longer_or_belong_to_other_tags
    coder = coder(NEW)
    bytes = coder.with_parts(dump(coder), "key", tags: { "t" => "8 bytes." })
    refused(coder, bytes, key: "other")
    frame = Tiercel::Frame.parse(bytes)
    rebuild = lambda do |type: frame.type, compressor: 0, expires_at: 4e9, **parts|
      parts = Tiercel::Frame::Parts.encode(version: "v1", tags: { "t" => "8 bytes." }, **parts)
      Tiercel::Frame.build(type, frame.payload, compressor:, expires_at:, parts:, checksum: true, encrypted: true)
    end
    assert_equal "a secret", load(coder, rebuild.call)
    assert_equal "a secret", load(coder, rebuild.call(computed_at: 5)), "a near copy's own part"
    [{ type: 2 }, { compressor: 1 }, { expires_at: 5e9 }, { expires_at: nil }, { version: "v2" },
     { tags: { "t" => "other..." } }, { tags: nil }, { stale: [5e9, 5e9] }, { exclusive: true }].each do |change|
      refused(coder, rebuild.call(**change))
    end
  end

  def test_plain_entries_are_refused_unless_they_are_accepted
    [dump(plain), "text of a raw write"].each do |bytes|
      refused(coder(NEW), bytes)
      refute_nil load(coder(NEW, accept_plain: true), bytes)
    end
    refused(plain, dump(coder(NEW)))
    assert_equal 12, load(coder(NEW), "12"), "counters are plain"
  end

  # NIST's CAVP vector of AES-256-GCM (gcmEncryptExtIV256, 128 bits of text, no additional data, count 0).
  def test_the_primitive_is_aes_256_gcm
    hex = ->(text) { [text].pack("H*") }
    openssl = OpenSSL::Cipher.new("aes-256-gcm").encrypt
    openssl.key = hex["31bdadd96698c204aa9ce1448ea94ae1fb4a9a0b3c9d773b51bb1822666b8f22"]
    openssl.iv = hex["0d18e06c7c725ac9e362e1ce"]
    openssl.auth_data = ""
    text = openssl.update(hex["2db5168e932556f8089a0622981d017d"]) << openssl.final
    assert_equal ["fa4362189661d163fcd6a56d8bf0405a", "d636ac1bbedd5cc3ee727dc2ab4a9489"],
                 [text, openssl.auth_tag].map { |bytes| bytes.unpack1("H*") }
  end

  def test_wrong_options_are_refused_without_naming_a_secret
    assert_nil Tiercel::Cipher.build(nil)
    assert_nil Tiercel::Cipher.build(false)
    ["on", { keys: "x" * 40 }, { keys: [] }, { keys: ["short"] }, { keys: [NEW], cipher: "des" }].each do |option|
      error = assert_raises(Tiercel::ConfigurationError) { Tiercel::Cipher.build(option) }
      assert_match(/\Aencrypt: /, error.message)
      refute_includes error.message, "x" * 40
      refute_includes error.message, "\"short\""
    end
    refute_includes Tiercel::Cipher.build({ keys: [NEW] }).inspect, NEW
  end
end
