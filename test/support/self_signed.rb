# frozen_string_literal: true

require "openssl"

module Tiercel
  # A self-signed certificate for TLS tests.
  module SelfSigned
    # @param names [String] its host names, in the format of a subjectAltName
    # @param ends_in [Numeric] seconds until it expires; negative for an expired one
    # @return [Array(OpenSSL::X509::Certificate, OpenSSL::PKey)]
    def self.certificate_and_key(names: "DNS:localhost,IP:127.0.0.1", ends_in: 3600)
      key = OpenSSL::PKey::EC.generate("prime256v1")
      certificate = OpenSSL::X509::Certificate.new
      certificate.version = 2
      certificate.serial = OpenSSL::BN.rand(64)
      certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=localhost")
      certificate.public_key = key
      certificate.not_before = Time.now - 7200
      certificate.not_after = Time.now + ends_in
      extensions = OpenSSL::X509::ExtensionFactory.new(certificate, certificate)
      certificate.add_extension(extensions.create_extension("subjectAltName", names))
      certificate.add_extension(extensions.create_extension("basicConstraints", "CA:TRUE", true))
      [certificate.sign(key, OpenSSL::Digest.new("SHA256")), key]
    end
  end
end
