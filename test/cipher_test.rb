# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"
require "tiercel/cipher"
require "tiercel/coder"

class CipherTest < Tiercel::TestCase
  OLD, NEW = %w[old new].map { |name| name * 20 }

  def cipher(*keys, **options) = Tiercel::Cipher.build({ keys:, **options })

  def frame(value = "a secret", **options)
    bytes = Tiercel::Coder.new(compressor: nil, checksum: false).dump_value(value, 4e9, "v1")
    options.empty? ? bytes : Tiercel::Frame.with_parts(bytes, **options)
  end

  def test_a_sealed_frame_opens_to_the_frame_and_does_not_show_the_value
    [frame, frame(""), frame({ "a" => [1, nil] }), frame(tags: { "t" => 7 }, stale: [1.0, 2.0])].each do |bytes|
      sealed = cipher(NEW).seal("key", bytes)
      assert_equal bytes, cipher(NEW).open("key", sealed)
      refute_includes sealed, "a secret"
      refute_equal sealed, cipher(NEW).seal("key", bytes), "each write has its own nonce"
    end
  end

  def test_keys_rotate
    old = cipher(OLD).seal("key", frame)
    both = cipher(NEW, OLD)
    assert_equal frame, both.open("key", old)
    assert_equal frame, cipher(NEW).open("key", both.seal("key", frame)), "the first key encrypts"
    assert_raises(Tiercel::MalformedFrame) { cipher(NEW).open("key", old) }
  end

  def test_every_changed_byte_is_refused
    sealed = cipher(NEW).seal("key", frame(tags: { "t" => 7 }, computed_at: 5))
    sealed.bytesize.times do |at|
      damaged = sealed.dup
      damaged.setbyte(at, damaged.getbyte(at) ^ (1 << (at % 8)))
      next refute Tiercel::Frame.frame?(damaged) if at.zero?
      assert_raises(Tiercel::MalformedFrame, "byte #{at}") { cipher(NEW).open("key", damaged) }
    end
    (1...sealed.bytesize).each do |size|
      assert_raises(Tiercel::MalformedFrame) { cipher(NEW).open("key", sealed.byteslice(0, size)) }
    end
  end

  # An attacker can compute checksums.
  def test_what_is_around_the_payload_is_authenticated
    sealed = cipher(NEW).seal("key", frame(tags: { "t" => 7 }))
    parsed = Tiercel::Frame.parse(sealed)
    parts = sealed.byteslice(24, sealed.unpack1("S<", offset: 6))
    rebuild = lambda do |type: parsed.type, compressor: 0, expires_at: 4e9, with: parts|
      Tiercel::Frame.build(type, parsed.payload, compressor:, expires_at:, parts: with, checksum: true, encrypted: true)
    end
    assert_equal frame(tags: { "t" => 7 }), cipher(NEW).open("key", rebuild.call)
    forged = [rebuild.call(type: 2), rebuild.call(compressor: 1), rebuild.call(expires_at: 5e9), rebuild.call(with: ""),
              rebuild.call(with: Tiercel::Frame::Parts.encode(version: "v1", tags: { "t" => 8 }))]
    forged.each { |bytes| assert_raises(Tiercel::MalformedFrame) { cipher(NEW).open("key", bytes) } }
    assert_raises(Tiercel::MalformedFrame) { cipher(NEW).open("other", sealed) }
  end

  def test_a_near_copy_may_carry_the_time_of_its_computation
    sealed = cipher(NEW).seal("key", frame)
    copy = Tiercel::Frame.with_parts(sealed, computed_at: 5)
    assert_equal Tiercel::Frame.with_parts(frame, computed_at: 5), cipher(NEW).open("key", copy)
  end

  def test_plain_frames_are_refused_unless_they_are_accepted
    assert_raises(Tiercel::MalformedFrame) { cipher(NEW).open("key", frame) }
    assert_equal frame, cipher(NEW, accept_plain: true).open("key", frame)
    assert_equal "12", cipher(NEW).open("key", cipher(NEW).seal("key", "12")), "counters are plain"
  end

  # NIST's CAVP vector of AES-256-GCM (gcmEncryptExtIV256, 128 bits of everything, count 0) for the primitive.
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
    refute_includes cipher(NEW).inspect, NEW
  end
end
