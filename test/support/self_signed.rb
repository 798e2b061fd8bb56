# frozen_string_literal: true

require "openssl"

module Tiercel
  # A certificate for localhost and 127.0.0.1 that is its own authority, for tests of TLS.
  module SelfSigned
    def self.certificate_and_key
      key = OpenSSL::PKey::RSA.new(2048)
      certificate = OpenSSL::X509::Certificate.new
      certificate.version = 2
      certificate.serial = 1
      certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=localhost")
      certificate.public_key = key.public_key
      certificate.not_before = Time.now - 60
      certificate.not_after = Time.now + 3600
      extensions = OpenSSL::X509::ExtensionFactory.new(certificate, certificate)
      certificate.add_extension(extensions.create_extension("subjectAltName", "DNS:localhost,IP:127.0.0.1"))
      certificate.add_extension(extensions.create_extension("basicConstraints", "CA:TRUE", true))
      [certificate.sign(key, OpenSSL::Digest.new("SHA256")), key]
    end
  end
end
