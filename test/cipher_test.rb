# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"
require "tiercel/cipher"
require "tiercel/coder"

class CipherTest < Tiercel::TestCase
  OLD, NEW = %w[old new].map { |name| name * 20 }

  def coder(*keys, **options)
    Tiercel::Coder.new(compressor: nil, cipher: Tiercel::Cipher.build({ keys:, **options }))
  end

  def plain = Tiercel::Coder.new(compressor: nil)

  def dump(coder, value = "a secret", key: "key") = coder.dump_value(value, 4e9, "v1", false, 0, key)

  def load(coder, bytes, key: "key") = coder.load(bytes, key)&.value

  def refused(...) = assert_raises(Tiercel::MalformedFrame, ActiveSupport::Cache::DeserializationError) { load(...) }

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

  def test_keys_rotate
    old = dump(coder(OLD))
    both = coder(NEW, OLD)
    assert_equal "a secret", load(both, old)
    assert_equal "a secret", load(coder(NEW), dump(both)), "the first key encrypts"
    refused(coder(NEW), old)
  end

  def test_every_changed_byte_is_refused
    bytes = Tiercel::Frame.with_parts(dump(coder(NEW)), tags: { "t" => 7 })
    bytes.bytesize.times do |at|
      damaged = bytes.dup
      damaged.setbyte(at, damaged.getbyte(at) ^ (1 << (at % 8)))
      refused(coder(NEW), damaged)
    end
    (1...bytes.bytesize).each { |size| refused(coder(NEW), bytes.byteslice(0, size)) }
  end

  # An attacker can compute checksums.
  def test_a_value_cannot_be_moved_to_another_key_or_read_as_another_type
    bytes = dump(coder(NEW))
    refused(coder(NEW), bytes, key: "other")
    frame = Tiercel::Frame.parse(bytes)
    rebuild = lambda do |type: frame.type, compressor: 0, payload: frame.payload|
      Tiercel::Frame.build(type, payload, compressor:, checksum: true, encrypted: true)
    end
    assert_equal "a secret", load(coder(NEW), rebuild.call)
    refused(coder(NEW), rebuild.call(type: 2))
    refused(coder(NEW), rebuild.call(compressor: 1))
    frame.payload.bytesize.times do |at|
      forged = frame.payload.dup
      forged.setbyte(at, forged.getbyte(at) ^ 1)
      refused(coder(NEW), rebuild.call(payload: forged))
    end
  end

  def test_plain_entries_are_refused_unless_they_are_accepted
    refused(coder(NEW), dump(plain))
    assert_equal "a secret", load(coder(NEW, accept_plain: true), dump(plain))
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
