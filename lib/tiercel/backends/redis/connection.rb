# frozen_string_literal: true

module Tiercel
  class Backends::Redis < Backend
    OK = "OK"
    private_constant :OK

    # An error reply, such as "OOM command not allowed".
    class ReplyError < Backends::Remote::Node::Refusal
      # The server closes the connection after this reply.
      MAX_CLIENTS = "max number of clients"
      # Error codes that concern the whole server, so that a retry would only cost time.
      NOT_SERVING = %w[LOADING BUSY CLUSTERDOWN MASTERDOWN TRYAGAIN ASK MOVED NOAUTH WRONGPASS UNBLOCKED].freeze
      # Replies to a new connection's first commands: a password that the server does not expect, a missing
      # database.
      NO_WAY_IN = /\AERR (AUTH |DB index)/
      # The reply to a user who may access other keys, but not this one.
      FORBIDDEN = /\ANOPERM .*access (one of the keys|a key)/
      NOT_A_NUMBER = /not an integer or out of range|would overflow/
      # Replies to a user who may not run scripts, and of a server without them.
      NO_SCRIPTS = /\A(NOPERM .*no permissions to run|ERR unknown command).*\beval\b/i
      private_constant :NOT_SERVING, :NO_WAY_IN, :FORBIDDEN, :NOT_A_NUMBER, :NO_SCRIPTS

      # @return [String] the first word
      def code = message[/\A\S+/]

      # A key of a type other than String is a miss.
      def miss? = code == "WRONGTYPE"
      def forbidden? = FORBIDDEN.match?(message)
      def refuses_scripts? = NO_SCRIPTS.match?(message)
      def too_many_clients? = message.include?(MAX_CLIENTS)

      # @return [Boolean] whether INCRBY found bytes that are not a number
      def not_a_number? = NOT_A_NUMBER.match?(message)

      # @param backend [#to_s]
      # @param key [String, nil]
      # @return [BackendError]
      def translated(backend, key)
        unless NOT_SERVING.include?(code) || too_many_clients? || NO_WAY_IN.match?(message)
          return Refused.new(message, backend:, key:).tap { |error| error.forbidden = forbidden? }
        end
        Unavailable.new(message, backend:, key:)
      end
    end

    # A connection that speaks RESP2, or RESP3 for a {Subscription}. Commands are Arrays of Strings. An error reply is
    # a value, a {ReplyError}, because other replies may follow it. A bulk String is in binary and not frozen; a
    # status, such as OK, is frozen.
    class Connection < Backends::Remote::Connection
      # The server is not the master that the Sentinels reported.
      class WrongRole < IOError; end

      # Servers send values with their length, and only numbers and short texts as lines.
      LINE_BYTES = 64 * 1024
      # CLUSTER SLOTS has the most deeply nested reply of all commands of this backend.
      DEEPEST = 8
      # Elements of a reply between two checks of the deadline, so that a server that never stops sending cannot block
      # a call.
      MANY = 4096
      # A connection younger than this stays open after a refused write, because the address may always lead to a
      # replica.
      RECONNECT_SECONDS = 1.0
      # The bytes before a part of a command, by the length of the part.
      SIZES = Array.new(256) { |bytes| "\r\n$#{bytes}\r\n".b.freeze }.freeze
      # The beginnings of commands, by the number of their parts.
      COUNTS = Array.new(16) { |parts| "*#{parts}".b.freeze }.freeze
      private_constant :SIZES, :COUNTS, :DEEPEST, :MANY, :RECONNECT_SECONDS

      # @param host [String, nil] nil if the Sentinels know it
      # @param login [Array<String>] nothing, the password, or user and password
      # @param sentinels [Sentinels, nil]
      # @param servers [SeenServers, nil] receives the server that the connection leads to
      # @param socket [Hash] see {Remote::Connection#initialize}
      def initialize(host, port, login: nil, database: 0, protocol: 2, sentinels: nil, servers: nil, **socket)
        super(host, port, **socket)
        @login = login
        @database = database
        @protocol = protocol
        @sentinels = sentinels
        @servers = servers
      end

      # @param command [Array<String>]
      # @return [Object] the reply
      def call(command, deadline)
        @servers&.used(@server)
        write(append(command, "".b), deadline)
        reply = read_reply(deadline)
        finish
        leave(reply) if reply.is_a?(ReplyError)
        reply
      end

      # @param commands [Array<Array<String>>]
      # @return [Array<Object>] the replies, after one trip
      def call_all(commands, deadline)
        write_all(commands, deadline)
        read_all(commands.size, deadline)
      end

      # @return [void]
      def write_all(commands, deadline)
        @servers&.used(@server) if @server # not while the connection asks which server it leads to
        # Most batches have values of one size; a String that grows is copied.
        request = String.new(capacity: commands.size * (96 + (commands.first[2]&.bytesize || 0)))
        commands.each { |command| append(command, request) }
        write(request, deadline)
      end

      # @return [Array<Object>] `count` replies
      def read_all(count, deadline)
        replies = Array.new(count) { read_reply(deadline) }
        finish
        leave(replies.first) if replies.first.is_a?(ReplyError)
        replies
      end

      # Sends a short command while another thread reads from the connection.
      #
      # @return [true]
      def post(command)
        request = append(command, String.new)
        sent = @io.write_nonblock(request, exception: false)
        sent == request.bytesize || raise(Lost, "the server does not read")
      end

      # @param deadline [Float, nil] nil to wait without a limit
      # @return [Object]
      def read_reply(deadline, depth = 0)
        fill(deadline) while @position >= @buffer.bytesize
        type = @buffer.getbyte(@position)
        arrived = read_arrived(deadline) and return arrived
        @position += 1
        case type
        when 36, 61 then read_bulk(deadline) # $ =
        when 43 then skip_line?(79, 75) ? OK : -read_line(deadline) # +
        when 58 then read_number(deadline) # :
        when 45 then ReplyError.new(read_line(deadline)) # -
        when 42, 126, 62 then read_array(read_number(deadline), deadline, depth) # * ~ >
        when 95 then read_line(deadline) && nil # _
        when 37 then read_array(read_number(deadline) * 2, deadline, depth) # %
        when 35, 40, 44 then -read_line(deadline) # # ( ,
        when 33 then ReplyError.new(read_bulk(deadline)) # !
        else unexpected("a reply that begins with #{type.chr.inspect}")
        end
      end

      # Closes the connection, even if a forked child holds a copy of its descriptor.
      #
      # @return [void]
      def shut_down
        @io&.to_io&.shutdown
      rescue SystemCallError, IOError
        nil # it is closed already
      end

      private

      def open_socket(deadline)
        @host, @port = @sentinels.find(deadline) if @sentinels
        super
      end

      # RESP2 needs no greeting, so opening a connection without a password, a database number, Sentinels or watched
      # servers costs no trip.
      def greet(deadline)
        @connected_at = Clock.monotonic
        @server = nil # forgets the server of the earlier connection
        login = Array(@login&.call)
        commands = []
        if @protocol == 3
          commands << ["HELLO", "3", *(["AUTH", *(["default"] if login.size == 1), *login] if login.any?)]
        end
        commands << ["AUTH", *login] if @protocol == 2 && login.any?
        commands << ["SELECT", @database.to_s] unless @database.zero?
        commands << ["ROLE"] if @sentinels
        replies = commands.empty? ? [] : call_all(commands, deadline)
        replies.each { |reply| raise reply if reply.is_a?(ReplyError) }
        role = Array(replies.last).first if @sentinels
        raise WrongRole, "expected the master, and its role is #{role.inspect}" if @sentinels && role != "master"
        @server = @servers&.identify(self, deadline)
      end

      # Closes a connection to a server that is no longer a master, or that accepts no more clients. The next call
      # connects to the server to which the address or a Sentinel leads then.
      def leave(error)
        return close if error.too_many_clients?
        return unless %w[READONLY MASTERDOWN].include?(error.code)
        close if Clock.monotonic - @connected_at >= RECONNECT_SECONDS
      end

      def append(command, request)
        request << (COUNTS[command.size] || "*#{command.size}")
        command.each do |part|
          part = part.b unless part.encoding == Encoding::BINARY || part.ascii_only?
          bytes = part.bytesize
          (size = SIZES[bytes]) ? request << size : request << "\r\n$" << bytes.to_s << CRLF
          request << part
        end
        request << CRLF
      end

      def read_bulk(deadline)
        bytes = read_number(deadline)
        return if bytes == -1
        bytes.negative? ? unexpected("a value of #{bytes} bytes") : read_value(bytes, deadline)
      end

      def read_array(count, deadline, depth)
        return if count == -1
        unexpected("an Array of #{count}, #{depth} deep") if count.negative? || depth > DEEPEST
        replies = []
        left = count
        while left.positive?
          replies << (read_arrived(deadline) || read_reply(deadline, depth + 1))
          left -= 1
          timed_out if (left % MANY).zero? && deadline && left.positive? && Clock.monotonic > deadline
        end
        replies
      end

      # Reads a value whose length has arrived, as most have. For these, this single method replaces {read_reply} and
      # {read_bulk}. For a hundred values of 2 KB it saves a fifth of the time.
      #
      # @return [String, nil]
      def read_arrived(deadline)
        return unless @buffer.getbyte(@position) == 36 && (bytes = read_digits(@position + 1))
        value_end = @position + bytes
        unless @buffer.getbyte(value_end + 1) == 10 && @buffer.getbyte(value_end) == 13
          return read_value(bytes, deadline)
        end
        value = @buffer.byteslice(@position, bytes)
        @position = value_end + 2
        value
      end

      def read_number(deadline)
        number = read_digits(@position) and return number
        text = read_line(deadline)
        return text.to_i if text.match?(/\A-?\d{1,19}\z/)
        unexpected("#{text.byteslice(0, 20).inspect} in place of a number")
      end

      # @param at [Integer] the position of a number in the buffer
      # @return [Integer, nil] the number; nil if it has not arrived with its line end, or is none from 0 to 10**18
      def read_digits(at)
        start = at
        number = 0
        while (digit = @buffer.getbyte(at)) && digit >= 48 && digit <= 57
          number = (number * 10) + digit - 48
          at += 1
        end
        return unless digit == 13 && @buffer.getbyte(at + 1) == 10 && (at - start).between?(1, 18)
        @position = at + 2
        number
      end

      def unexpected(what) = raise(Garbage, what)
    end
  end
end
