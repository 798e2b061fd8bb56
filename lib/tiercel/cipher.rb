# frozen_string_literal: true

require "openssl"

# Encrypts the payloads of frames with AES-256-GCM (NIST SP 800-38D), a random nonce for each write.
#
# The first key encrypts, all keys decrypt, so keys rotate without a cold cache. Encryption comes after serialization
# and compression. The sealed payload is: key id (4 bytes), nonce (12), authentication tag (16), ciphertext. The cache
# key is authenticated: a value cannot be moved to another key. lib/tiercel/frame.md has the byte table.
class Tiercel::Cipher
  include Tiercel::Frame::Layout

  KEY_ID_BYTES = 4
  NONCE_BYTES = 12
  AUTH_TAG_BYTES = 16
  OVERHEAD_BYTES = KEY_ID_BYTES + NONCE_BYTES + AUTH_TAG_BYTES
  # A secret of fewer bytes can be guessed.
  LEAST_SECRET_BYTES = 32
  # Names the derivation and the format, so that the same secret gives other keys to another use or version (RFC 5869).
  PURPOSE = "tiercel frame 1"
  private_constant :PURPOSE

  # @param option [true, false, nil, Hash] the store's option `encrypt:`. true uses the keys of Active Record
  #   encryption. A Hash has `keys:` (secret Strings of at least 32 bytes, the newest first) and `accept_plain:`
  #   (whether unencrypted frames are still read)
  # @return [Cipher, nil] nil without encryption
  # @raise [ConfigurationError] for anything else
  def self.build(option)
    case option
    when nil, false then return
    when true then return new(nil)
    when Hash
      unknown = option.keys.map(&:to_sym) - %i[keys accept_plain]
      option = option.transform_keys(&:to_sym)
      return new(check(option[:keys]), accept_plain: option[:accept_plain] == true) if unknown.empty?
      raise Tiercel::ConfigurationError, "encrypt: unknown #{unknown.map(&:inspect).join(", ")}; " \
                                         "there are :keys and :accept_plain"
    end
    raise Tiercel::ConfigurationError, "encrypt: expected true or a Hash such as " \
                                       "{ keys: [ENV.fetch(\"CACHE_KEY\")] }, got an object of #{option.class}"
  end

  # The message never contains a secret.
  def self.check(secrets)
    return if secrets.nil? # the keys of Active Record encryption
    unless secrets.is_a?(Array) && secrets.any? && secrets.all?(String)
      raise Tiercel::ConfigurationError, "encrypt: keys: expected an Array of Strings, the newest first; " \
                                         "got an object of #{secrets.class}"
    end
    short = secrets.index { |secret| secret.bytesize < LEAST_SECRET_BYTES }
    return secrets unless short
    raise Tiercel::ConfigurationError, "encrypt: keys: expected secrets of at least #{LEAST_SECRET_BYTES} bytes (for " \
                                       "example from `bin/rails secret`); " \
                                       "number #{short + 1} has #{secrets[short].bytesize}"
  end
  private_class_method :check

  # @private
  def initialize(secrets, accept_plain: false)
    @secrets = secrets
    @accept_plain = accept_plain
    @keys = nil
    @idle = { encrypt: {}, decrypt: {} }
  end

  # @return [Boolean] whether frames that are not encrypted are still read
  def accept_plain? = @accept_plain

  # @param key [String] the key under which the frame is stored
  # @param frame [String] a finished frame, not encrypted
  # @return [String] its sealed payload, for a frame with the flag ENCRYPTED
  def seal(key, frame)
    payload = Tiercel::Frame.payload(frame)
    id = keys.each_key.first
    nonce = Random.urandom(NONCE_BYTES)
    with(:encrypt, id) do |cipher|
      cipher.iv = nonce
      cipher.auth_data = Tiercel::Frame.authenticated(frame) << key.b
      # OpenSSL refuses empty input; an empty String has an empty ciphertext and a tag.
      text = payload.empty? ? "".b : cipher.update(payload)
      text << cipher.final
      "#{id}#{nonce}#{cipher.auth_tag(AUTH_TAG_BYTES)}#{text}"
    end
  end

  # @param key [String] the key under which the frame was found
  # @param frame [Frame]
  # @return [String] the payload that {#seal} received
  # @raise [Undecryptable] if the payload was altered, belongs to another key of the cache, was encrypted with an
  #   unknown key, or is not encrypted although it must be
  def open(key, frame)
    sealed = frame.payload
    unless frame.encrypted?
      return sealed if @accept_plain
      raise Tiercel::Undecryptable, "the entry is not encrypted, and encrypt: is on without accept_plain: true"
    end
    id = sealed.byteslice(0, KEY_ID_BYTES)
    unless keys.key?(id)
      raise Tiercel::Undecryptable, "the entry was encrypted with a key that encrypt: does not list"
    end
    raise Tiercel::Undecryptable, "an encrypted payload is cut off" if sealed.bytesize < OVERHEAD_BYTES
    with(:decrypt, id) do |cipher|
      cipher.iv = sealed.byteslice(KEY_ID_BYTES, NONCE_BYTES)
      cipher.auth_tag = sealed.byteslice(KEY_ID_BYTES + NONCE_BYTES, AUTH_TAG_BYTES)
      cipher.auth_data = frame.authenticated + key.b
      text = sealed.bytesize == OVERHEAD_BYTES ? "".b : cipher.update(sealed.byteslice(OVERHEAD_BYTES..))
      text << cipher.final
    end
  rescue OpenSSL::Cipher::CipherError
    raise Tiercel::Undecryptable, "an encrypted entry was altered, or was moved from another key"
  end

  # Several Ractors use a frozen cipher, so it keeps no OpenSSL objects.
  def freeze
    keys
    @idle = nil
    super
  end

  # @return [String] without the secrets
  def inspect = "#<#{self.class.name}>"

  private

  # Keeps OpenSSL objects with their keys, because a new one costs more than encrypting 2 KB. A new nonce resets an
  # object, even after a failure.
  def with(mode, id)
    idle = @idle ? @idle[mode][id] ||= [] : []
    cipher = idle.pop || OpenSSL::Cipher.new("aes-256-gcm").public_send(mode).tap { |made| made.key = keys.fetch(id) }
    yield cipher
  ensure
    idle.push(cipher) if cipher
  end

  # The keys are derived when they are first used: a Rails application configures Active Record encryption after its
  # cache.
  #
  # @return [Hash{String => String}] keys of 32 bytes by id, the one that encrypts first
  def keys
    @keys ||= (@secrets || active_record_secrets).to_h do |secret|
      key = OpenSSL::KDF.hkdf(secret, salt: "", info: PURPOSE, length: 32, hash: "SHA256")
      [OpenSSL::Digest::SHA256.digest(key).byteslice(0, KEY_ID_BYTES), key]
    end
  end

  def active_record_secrets
    unless defined?(ActiveRecord::Encryption)
      raise Tiercel::ConfigurationError, "encrypt: true takes the keys of Active Record encryption, which is not " \
                                         "loaded: use encrypt: { keys: [...] }"
    end
    provider = ActiveRecord::Encryption::DerivedSecretKeyProvider.new(ActiveRecord::Encryption.config.primary_key)
    newest = provider.encryption_key.secret
    [newest, *(provider.decryption_keys(ActiveRecord::Encryption::Message.new).map(&:secret) - [newest])]
  rescue ActiveRecord::Encryption::Errors::Configuration => error
    raise Tiercel::ConfigurationError, "encrypt: true takes the keys of Active Record encryption: #{error.message}"
  end
end
