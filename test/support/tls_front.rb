# frozen_string_literal: true

require "openssl"
require "socket"
require_relative "self_signed"

module Tiercel
  # A TLS proxy in front of a server without TLS, with a certificate that the test chooses, and with faults in the
  # handshake.
  class TLSFront
    # The beginning of a server's handshake: the header of a record, and a part of its content.
    HALF = "\x16\x03\x03\x00\x7A\x02\x00\x00\x76\x03\x03".b
    PIECE_BYTES = 20
    GAP_SECONDS = 0.02

    # @return [Integer]
    attr_reader :port
    # @return [OpenSSL::X509::Certificate] the certificate, which is also its own authority
    attr_reader :certificate

    # @param server [#connect, nil] the server behind it, one of the lab's
    # @param manner [Symbol] :relay; or :silent, :half and :trickle, whose handshake never ends or takes seconds
    # @param shown [Array, nil] certificate and key; nil to create them
    # @param certificate [Hash] see {SelfSigned.certificate_and_key}
    # @yieldparam front [TLSFront]
    def self.run(server = nil, manner: :relay, shown: nil, **certificate)
      front = new(server, manner, *(shown || SelfSigned.certificate_and_key(**certificate)))
      yield front
    ensure
      front&.stop
    end

    def initialize(server, manner, certificate, key)
      @server = server
      show(certificate, key)
      @listener = TCPServer.new("127.0.0.1", 0)
      @port = @listener.addr[1]
      @threads = ThreadGroup.new
      start { |client| public_send(manner, client) }
    end

    # Sets the certificate for new connections; there are no others.
    def show(certificate, key)
      @certificate = certificate
      @context = OpenSSL::SSL::SSLContext.new.tap { |context| context.add_certificate(certificate, key) }
      @connections&.each(&:close)
      @connections = []
    end

    # @param dir [String] a folder
    # @return [String] the path of the certificate
    def authority(dir) = File.join(dir, "authority.pem").tap { |path| File.write(path, certificate.to_pem) }

    def stop
      @listener.close
      @threads.list.each(&:kill)
    end

    def relay(client) = speak(client) { |secured, plain| copy(secured, plain, both: true) }

    def silent(client) = client.read

    def half(client)
      client.readpartial(2_000)
      client.write(HALF)
      client.read
    end

    # Sends the server's bytes in small pieces, including the handshake.
    def trickle(client)
      near, far = UNIXSocket.pair
      in_thread { relay(far) }
      in_thread { copy(client, near) }
      while (piece = near.readpartial(PIECE_BYTES))
        client.write(piece)
        sleep GAP_SECONDS
      end
    end

    private

    def start
      in_thread do
        loop do
          client = @listener.accept
          in_thread { yield client }
        end
      end
    end

    def in_thread
      thread = Thread.new do
        yield
      rescue IOError, SystemCallError, OpenSSL::SSL::SSLError
        nil
      end
      @threads.add(thread)
    end

    def speak(client)
      secured = OpenSSL::SSL::SSLSocket.new(client, @context).tap { |ssl| ssl.sync_close = true }
      @connections << secured
      secured.accept
      yield secured, @server.connect
    end

    def copy(from, to, both: false)
      in_thread { copy(to, from) } if both
      loop { to.write(from.readpartial(16_384)) }
    ensure
      [from, to].each(&:close)
    end
  end
end
