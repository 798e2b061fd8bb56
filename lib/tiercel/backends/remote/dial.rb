# frozen_string_literal: true

require "openssl"
require "socket"

module Tiercel::Backends::Remote
  # Opens connections within a call's deadline. The deadline covers the name lookup and the attempts for all
  # addresses together. The libraries' own timeouts apply to each address separately, and their lookups have no
  # timeout.
  module Dial
    NUMERIC = Socket::AI_NUMERICHOST
    LATE = "no connection within the time budget"
    # Seconds between two attempts if a Unix socket's queue is full.
    PAUSE = 0.002
    private_constant :NUMERIC, :LATE, :PAUSE

    module_function

    # @param port [Integer, nil] nil for a Unix socket, whose path is the host
    # @param tls [OpenSSL::SSL::SSLContext, nil]
    # @return [Socket, OpenSSL::SSL::SSLSocket]
    def open(host, port, tls, deadline)
      return unix(host, deadline) unless port
      socket = tcp(host, port, deadline)
      socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, true)
      socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_KEEPALIVE, true)
      tls ? secured(socket, host, tls, deadline) : socket
    end

    # Opens TLS over a connected socket within the deadline, even if the server sends nothing, stops halfway, or
    # sends its part byte by byte.
    def secured(socket, host, tls, deadline)
      secured = OpenSSL::SSL::SSLSocket.new(socket, tls)
      secured.hostname = host
      secured.sync_close = true
      until (state = secured.connect_nonblock(exception: false)).equal?(secured)
        seconds = Tiercel::Clock.seconds_until(deadline)
        next if state == :wait_writable ? socket.wait_writable(seconds) : socket.wait_readable(seconds)
        raise IO::TimeoutError, "TLS could not be set up within the time budget"
      end
      done = secured
    ensure
      socket.close unless done
    end

    # Tries each address with a share of the remaining time. Any other error than these, such as a Timeout, interrupts
    # the caller.
    #
    # @param host [String] a name or an address
    # @return [Socket] connected
    # @raise [SystemCallError, SocketError] {Errno::ETIMEDOUT} past the deadline
    def tcp(host, port, deadline)
      addresses = look_up(host, port, deadline)
      addresses.each_with_index do |address, index|
        return address.connect(timeout: seconds_left(deadline) / (addresses.size - index))
      rescue SystemCallError, SocketError, IOError
        raise if index == addresses.size - 1 || Tiercel::Clock.monotonic >= deadline
      end
    end

    # @return [Socket] connected
    # @raise [SystemCallError] {Errno::ETIMEDOUT} past the deadline
    def unix(path, deadline)
      Addrinfo.unix(path).connect(timeout: seconds_left(deadline))
    rescue Errno::EAGAIN
      sleep PAUSE
      retry
    end

    # An address needs no lookup. A name is looked up in a separate thread, which is killed after the deadline.
    #
    # @param host [String] an IPv6 address may have the brackets of a URL
    def look_up(host, port, deadline)
      host = host.delete_prefix("[").delete_suffix("]")
      Addrinfo.getaddrinfo(host, port, nil, :STREAM, nil, NUMERIC)
    rescue SocketError
      thread = Thread.new { Addrinfo.getaddrinfo(host, port, nil, :STREAM) }
      thread.report_on_exception = false
      thread.name = "tiercel look-up"
      return thread.value if thread.join(seconds_left(deadline))
      thread.kill
      raise Errno::ETIMEDOUT, "the name #{host} was not looked up within the time budget"
    end

    def seconds_left(deadline)
      seconds = deadline - Tiercel::Clock.monotonic
      seconds.positive? ? seconds : raise(Errno::ETIMEDOUT, LATE)
    end
  end

  # Makes the TLS context of a store from the option `ssl_params`. All connections of the store share the context,
  # because reading the machine's certificate authorities takes 20 ms.
  module TLSContext
    # Options that name files.
    PLACES = %i[ca_file ca_path].freeze
    private_constant :PLACES

    # @param params [Hash, nil] `ssl_params`: parameters of SSLContext#set_params, with names as Symbols or Strings.
    #   `cert` and `key` may be files or their content
    # @return [OpenSSL::SSL::SSLContext]
    # @raise [ConfigurationError] if none can be made. Values may be private keys, so messages show only the paths of
    #   files
    def self.build(params)
      params = checked(params)
      params[:cert] = OpenSSL::X509::Certificate.new(text(params[:cert])) if params[:cert].is_a?(String)
      params[:key] = OpenSSL::PKey.read(text(params[:key])) if params[:key].is_a?(String)
      OpenSSL::SSL::SSLContext.new.tap { |context| context.set_params(params) }.tap(&:setup)
    rescue Tiercel::ConfigurationError
      raise
    rescue StandardError => error
      raise Tiercel::ConfigurationError,
        "ssl_params: no TLS can be made of #{params.keys.join(", ")}: #{error.class}: " \
        "#{error.message.lines.first&.chomp}"
    end

    # @raise [ConfigurationError] if the option is no Hash, or names a file that cannot be read
    def self.checked(given)
      given ||= {}
      raise Tiercel::ConfigurationError, "ssl_params: expected a Hash, got a #{given.class}" unless given.is_a?(Hash)
      given.transform_keys(&:to_sym).each do |name, value|
        next if !PLACES.include?(name) || value.nil? || ::File.readable?(value)
        raise Tiercel::ConfigurationError, "ssl_params: #{name}: #{value.inspect} is not there, or cannot be read"
      end
    end
    private_class_method :checked

    def self.text(place_or_text) = ::File.file?(place_or_text) ? ::File.read(place_or_text) : place_or_text
    private_class_method :text
  end
end
