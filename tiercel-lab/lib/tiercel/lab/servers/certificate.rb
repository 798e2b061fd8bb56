# frozen_string_literal: true

require "openssl"

module Tiercel
  module Lab
    module Servers
      # A self-signed certificate for the loopback address, valid for a day, for servers with TLS and their clients.
      class Certificate
        SECONDS = 86_400

        # @return [String] path of the certificate (PEM), also the clients' CA file
        attr_reader :file
        # @return [String] path of its private key (PEM)
        attr_reader :key_file

        # @param folder [String] folder for the two files
        def initialize(folder)
          @file = File.join(folder, "server.crt")
          @key_file = File.join(folder, "server.key")
          return if File.exist?(@key_file)
          key = OpenSSL::PKey::EC.generate("prime256v1")
          File.write(@file, issue(key).to_pem)
          File.write(@key_file, key.private_to_pem, perm: 0o600)
        end

        private

        def issue(key)
          certificate = OpenSSL::X509::Certificate.new
          certificate.version = 2 # X.509 v3
          certificate.serial = OpenSSL::BN.rand(64)
          certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=localhost")
          certificate.public_key = key
          certificate.not_before = Time.at(Process.clock_gettime(Process::CLOCK_REALTIME)) - 60
          certificate.not_after = certificate.not_before + SECONDS
          add_extensions(certificate)
          certificate.sign(key, OpenSSL::Digest.new("SHA256"))
        end

        def add_extensions(certificate)
          factory = OpenSSL::X509::ExtensionFactory.new(certificate, certificate)
          certificate.add_extension(factory.create_extension("basicConstraints", "CA:TRUE", true))
          certificate.add_extension(factory.create_extension("subjectAltName", "IP:127.0.0.1,DNS:localhost"))
        end
      end
    end
  end
end
