# frozen_string_literal: true

module Tiercel
  class Backends::Memcached < Backend
    # The token for {Backend#compare_and_set}: an entry's cas number, and the number of this process' newest
    # connection at the time of the read.
    #
    # A restarted server counts its cas numbers from 1 again. A working connection that is older than the read leads
    # to the same server process that answered the read. Over a newer connection the comparison always fails,
    # because that connection might lead to a restarted server.
    Token = Struct.new(:cas, :newest) do
      # Stores the response line and {Connection.mark} in a variable of the bytes; {.of} parses it later, because few
      # reads need a token.
      #
      # @return [String] the bytes
      def self.keep(bytes, line)
        bytes.instance_variable_set(:@tiercel_line, line)
        bytes
      end

      # @return [Token, nil]
      def self.of(bytes)
        parts = bytes.instance_variable_get(:@tiercel_line)&.match(/ c(\d+) o(\d+)\z/)
        parts && new(parts[1].to_i, parts[2].to_i)
      end

      # @return [Integer] the cas number, or a number that no entry has
      def cas_over(connection) = connection.number <= newest ? cas : Token::NEVER
    end
    # No server's cas numbers reach this value.
    Token::NEVER = (2**64) - 1

    # A connection that speaks memcached's meta protocol (protocol.txt of memcached 1.6; all flags work with 1.6.18).
    # Each request has one response. A refusal is a value, a {ServerError}, because other responses may follow it.
    class Connection < Backends::Remote::Connection
      # The server answered and refused the command.
      class ServerError < Backends::Remote::Node::Refusal; end
      # The server accepts no more connections.
      class TooManyConnections < IOError; end

      ANSWERS = { "HD" => true, "STORED" => true, "OK" => true, "NS" => false, "EX" => false, "NF" => false,
                  "EN" => false, "NOT_STORED" => false }.freeze
      DETAILS = / c(\d+) t(-?\d+)\z/
      TOO_LARGE = /\ASERVER_ERROR (object too large|out of memory storing object \(too large)/
      NOT_NUMERIC = /\ACLIENT_ERROR cannot increment or decrement non-numeric/
      private_constant :ANSWERS, :DETAILS, :TOO_LARGE, :NOT_NUMERIC

      @lock = Mutex.new
      @newest = 0
      @mark = " o0"
      class << self
        # @return [Integer] number of this process' newest connection
        attr_reader :newest
        # @return [String] this number in the form of a flag
        attr_reader :mark

        # @return [Integer] the number for a connection that was just opened
        def next_number
          @lock.synchronize do
            @newest += 1
            @mark = " o#{@newest}".freeze
            @newest
          end
        end

        # --- requests ---

        def get_request(wire_key) = "mg #{wire_key} c v\r\n"

        # Reads the bytes with their token and remaining TTL.
        def look_request(wire_key) = "mg #{wire_key} c t v\r\n"

        # @param ttl [Integer] in memcached's form
        # @param cas [Integer, nil] the expected cas number
        def set_request(wire_key, bytes, ttl, cas = nil)
          bytes = bytes.b unless bytes.encoding == Encoding::BINARY || bytes.ascii_only?
          request = String.new(capacity: wire_key.bytesize + bytes.bytesize + 64)
          request << "ms " << wire_key << " " << bytes.bytesize.to_s << " T" << ttl.to_s
          request << " C" << cas.to_s if cas
          request << "\r\n" << bytes << "\r\n"
        end

        # Does not use `ms` with mode E (ME): if memory is short, that mode drops the existing entry.
        def add_request(wire_key, bytes, ttl)
          bytes = bytes.b unless bytes.encoding == Encoding::BINARY || bytes.ascii_only?
          String.new(capacity: wire_key.bytesize + bytes.bytesize + 48) <<
            "add " << wire_key << " 0 " << ttl.to_s << " " << bytes.bytesize.to_s << "\r\n" << bytes << "\r\n"
        end
      end

      # @return [Integer] counts the connections of this process
      attr_reader :number

      def open(deadline, verify: false)
        fresh = super
        @number = Connection.next_number if fresh
        @newest = Connection.newest
        @mark = Connection.mark
        fresh
      end

      # @return [Object] see {#read_response}
      # @raise [ServerError]
      def call(request, deadline)
        write(request, deadline)
        response = read_response(deadline)
        finish
        response.is_a?(ServerError) ? raise(response) : response
      end

      # @return [Array(String, Token, Float), nil] as {Backend#look}
      def look(wire_key, deadline)
        found = call(Connection.look_request(wire_key), deadline) or return
        found.is_a?(Array) ? found : raise(Garbage, "a response without what was requested")
      end

      # @return [Array<Object>] see {#read_response}
      def read_all(count, deadline)
        responses = Array.new(count) { read_response(deadline) }
        finish
        responses
      end

      # @return [Object] true if done; false if the condition did not hold or the key is absent; the bytes; for
      #   {.look_request} an Array as {Backend#look}; :too_large; :not_numeric; or a {ServerError}
      def read_response(deadline)
        return true if skip_line?(72, 68) # HD
        line = read_line(deadline)
        if line.delete_prefix!("VA ")
          bytes = read_value(line.to_i, deadline)
          return Token.keep(bytes, line << @mark) unless (details = line.include?(" t") && DETAILS.match(line))
          # The server's clock ticks once a second, so the remaining TTL may be one second too long.
          left = details[2].to_i
          return [bytes, Token.new(details[1].to_i, @newest), left.negative? ? nil : left + 1.0]
        end
        answer = ANSWERS[line]
        answer.nil? ? refusal(line) : answer
      end

      # @return [Hash{String => String}]
      def stats(deadline)
        write("stats\r\n", deadline)
        found = {}
        until (line = read_line(deadline)) == "END"
          raise refusal(line) unless line.start_with?("STAT ")
          _, name, value = line.split(" ", 3)
          found[name] = value
        end
        finish
        found
      end

      private

      # After SERVER_ERROR, requests and responses still match. After any other error they may not, so the connection
      # stays busy and the pool closes it.
      def refusal(line)
        case line
        when TOO_LARGE then :too_large
        when NOT_NUMERIC then :not_numeric
        when /\ASERVER_ERROR/ then ServerError.new(line)
        when /\AERROR Too many open connections/ then raise TooManyConnections, line
        when /\A(CLIENT_)?ERROR\b/ then raise ServerError, line
        else raise Garbage, "unexpected response: #{line.byteslice(0, 40).inspect}"
        end
      end
    end
  end
end
