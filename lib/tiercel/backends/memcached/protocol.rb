# frozen_string_literal: true

module Tiercel
  module Backends
    class Memcached < Backend
      # A connection with a number, which {Token}s need.
      class Connection < Remote::Connection
        # Precedes a number in {mark}. It has the form of a memcached flag.
        FLAG = " o"

        @lock = Mutex.new
        @count = 0
        @mark = "#{FLAG}0".freeze

        class << self
          # @return [String] {FLAG} and the number of this process' newest connection
          attr_reader :mark

          # @return [Integer] the number for a connection that was just opened
          def next_number
            @lock.synchronize do
              @count += 1
              @mark = "#{FLAG}#{@count}".freeze
              @count
            end
          end
        end

        # @return [Integer] counts the connections of this process
        attr_reader :number
        # @return [String] {.mark} from before the current call's first request
        attr_reader :mark

        def open(deadline, verify: false)
          fresh = super
          @number = Connection.next_number if fresh
          @mark = Connection.mark
          fresh
        end
      end

      # The token for {Backend#compare_and_set}: an entry's cas number, and the number of this process' newest
      # connection at the time of the read.
      #
      # A restarted server counts its cas numbers from 1 again. A working connection that is older than the read leads
      # to the same server process that answered the read. Over a newer connection the comparison always fails,
      # because that connection might lead to a restarted server.
      Token = Struct.new(:cas, :newest) do
        # @param line [String] a response line with its {Connection::FLAG}
        # @return [Token]
        def self.of(line) = new(Protocol.number(line, " c") || Token::NEVER, Protocol.number(line, Connection::FLAG))

        # @param connection [Connection] the connection of the request
        # @return [Integer] the cas number, or a number that no entry has
        def cas_over(connection) = connection.number <= newest ? cas : Token::NEVER
      end
      # No server's cas numbers reach this value.
      Token::NEVER = (2**64) - 1

      # The commands of memcached's meta protocol that a cache needs, as functions of a connection. Source:
      # protocol.txt of memcached 1.6. All flags work with 1.6.18.
      #
      # A command for many keys has two methods, `write_*` and `read_*`, so that several servers can work
      # concurrently.
      module Protocol
        # The server answered and refused the command.
        class ServerError < Remote::Node::Refusal; end
        # The server accepts no more connections.
        class TooManyConnections < IOError; end

        # The lines of the last read of this thread or fiber, which contain its cas numbers: a String, or an Array in
        # the order of the keys. A read that finds a value costs no object more for it.
        LAST_READ = :tiercel_memcached_last_read

        TOO_LARGE = /\ASERVER_ERROR (object too large|out of memory storing object \(too large)/
        REFUSAL = "SERVER_ERROR"
        NOT_NUMERIC = "CLIENT_ERROR cannot increment or decrement non-numeric"

        module_function

        # Keeps the response line as {LAST_READ}.
        #
        # @return [String, nil]
        def get(connection, key, deadline)
          connection.write("mg #{key} c v\r\n", deadline)
          line = connection.read_line(deadline)
          bytes = value(connection, line, deadline) unless line == "EN"
          connection.finish
          Thread.current[LAST_READ] = line << connection.mark if bytes
          bytes
        end

        # @return [Array(String, String), nil] the bytes, and the line before them. The line contains c (cas), t
        #   (seconds left, -1 for no expiry) and {Connection#mark}; see {#number} and {Token.of}
        def get_with_details(connection, key, deadline)
          connection.write("mg #{key} c t v\r\n", deadline)
          line = connection.read_line(deadline)
          bytes = value(connection, line, deadline) unless line == "EN"
          connection.finish
          [bytes, line << connection.mark] if bytes
        end

        # @param token [Token, nil]
        # @return [Symbol] :stored, :not_stored (the entry exists, or with a token: it changed), or :too_large
        def set(connection, key, bytes, ttl, deadline, mode: :set, token: nil)
          cas = token&.cas_over(connection)
          connection.write(mode == :add ? add_request(key, bytes, ttl) : cas_request(key, bytes, ttl, cas), deadline)
          answer = stored(connection, connection.read_line(deadline))
          connection.finish
          answer
        end

        # Reads, and writes if the key is absent. Sends both requests together.
        #
        # @return [Array(Symbol, String, String)] as {#set}, followed by the result of {#get_with_details} for an
        #   existing entry
        def add_or_get(connection, key, bytes, ttl, deadline)
          connection.write("mg #{key} c t v\r\n".b << add_request(key, bytes, ttl), deadline)
          line = connection.read_line(deadline)
          present = value(connection, line, deadline, more: true) unless line == "EN"
          answer = stored_or_refusal(connection, connection.read_line(deadline))
          connection.finish
          raise answer if answer.is_a?(ServerError) && present.nil?
          [answer, present, line << connection.mark]
        end

        # Writes if the key is absent (with a token: if the entry is unchanged), then reads. Sends both requests
        # together.
        #
        # @return [Array(String, String), nil] as {#get_with_details}
        def claim(connection, key, bytes, ttl, token, deadline)
          connection.write(claim_request(connection, key, bytes, ttl, token) << "mg #{key} c t v\r\n", deadline)
          answer = stored_or_refusal(connection, connection.read_line(deadline))
          line = connection.read_line(deadline)
          present = value(connection, line, deadline) unless line == "EN"
          connection.finish
          raise answer if answer.is_a?(ServerError) && present.nil?
          [present, line << connection.mark] if present
        end

        # @param claims [Array<Array(String, String, Token)>] as for {#write_set_multi}, and a token or nil
        def write_claim_multi(connection, claims, ttl, deadline)
          request = String.new
          claims.each { |key, bytes, token| request << claim_request(connection, key, bytes, ttl, token) }
          claims.each_with_index { |(key, _), index| request << "mg #{key} c t v q O#{index}\r\n" }
          connection.write(request << "mn\r\n", deadline)
        end

        # @yieldparam index [Integer] the position of the key
        # @yieldparam bytes [String]
        # @yieldparam line [String] as {#get_with_details}
        def read_claim_multi(connection, count, deadline, &)
          answers = Array.new(count) { stored_or_refusal(connection, connection.read_line(deadline)) }
          read_get_multi(connection, deadline, &)
          answers.each { |answer| raise answer if answer.is_a?(ServerError) }
        end

        # @param changes [Array<Array(String, String, Token)>] wire keys, bytes, tokens
        def write_cas_multi(connection, changes, ttl, deadline)
          request = String.new
          changes.each { |key, bytes, token| request << cas_request(key, bytes, ttl, token.cas_over(connection)) }
          connection.write(request, deadline)
        end

        # @return [Boolean]
        def delete(connection, key, deadline)
          connection.write("md #{key}\r\n", deadline)
          deleted = done?(connection, connection.read_line(deadline))
          connection.finish
          deleted
        end

        # @return [Boolean]
        def touch(connection, key, ttl, deadline)
          connection.write("mg #{key} T#{ttl}\r\n", deadline)
          touched = done?(connection, connection.read_line(deadline))
          connection.finish
          touched
        end

        # Adds to a decimal number; an absent one starts at `amount`. Reads the bytes before, in the same trip, because
        # the server also adds to text that is nearly a number.
        #
        # @param amount [Integer] from 0 to 2**64 - 1
        # @return [Array(Integer, String, String)] the sum (nil if the bytes are not a number), the bytes before (nil if
        #   the key was absent), and the line with the token of the sum
        def increment(connection, key, amount, ttl, deadline)
          connection.write("mg #{key} v\r\nma #{key} N#{ttl} J#{amount} D#{amount} c t v\r\n", deadline)
          line = connection.read_line(deadline)
          before = value(connection, line, deadline, more: true) unless line == "EN"
          line = connection.read_line(deadline)
          count = value(connection, line, deadline).to_i unless line.start_with?(NOT_NUMERIC) || line == "NS"
          connection.finish
          [count, before, line << connection.mark]
        end

        # @param keys [Array<String>] wire keys
        def write_get_multi(connection, keys, deadline)
          request = String.new(capacity: keys.sum(&:bytesize) + (keys.size * 18) + 4)
          keys.each_with_index { |key, index| request << "mg " << key << " c v q O" << index.to_s << "\r\n" }
          connection.write(request << "mn\r\n", deadline)
        end

        # @yieldparam index [Integer] the position of the key
        # @yieldparam bytes [String]
        # @yieldparam line [String] the line before the bytes
        def read_get_multi(connection, deadline)
          until (line = connection.read_line(deadline)) == "MN"
            bytes = value(connection, line, deadline, more: true)
            yield (number(line, " O") or raise Connection::Garbage, "a response without its opaque"), bytes,
                  line << connection.mark
          end
          connection.finish
        end

        # @param pairs [Array<Array(String, String)>] wire keys and bytes
        def write_set_multi(connection, pairs, ttl, deadline)
          request = String.new(capacity: pairs.sum { |key, bytes| key.bytesize + bytes.bytesize + 40 })
          flags = "T#{ttl}"
          pairs.each { |key, bytes| append_set(request, key, bytes, flags) }
          connection.write(request, deadline)
        end

        # @return [Array<Symbol>] results as of {#set}, in order
        def read_set_multi(connection, count, deadline)
          answers = Array.new(count) do
            connection.skip_line?(72, 68) ? :stored : stored_or_refusal(connection, connection.read_line(deadline)) # HD
          end
          connection.finish
          answers.each { |answer| raise answer if answer.is_a?(ServerError) }
        end

        # @param keys [Array<String>] wire keys
        def write_delete_multi(connection, keys, deadline)
          connection.write(keys.map { |key| "md #{key}\r\n".b }.join, deadline)
        end

        # @return [Integer] how many of the keys existed
        def read_delete_multi(connection, count, deadline)
          answers = Array.new(count) { done?(connection, connection.read_line(deadline), more: true) }
          connection.finish
          answers.count(true)
        end

        # @return [void]
        def flush_all(connection, deadline)
          connection.write("flush_all\r\n", deadline)
          line = connection.read_line(deadline)
          refused(connection, line) unless line == "OK"
          connection.finish
        end

        # @return [Hash{String => String}]
        def stats(connection, deadline)
          connection.write("stats\r\n", deadline)
          found = {}
          until (line = connection.read_line(deadline)) == "END"
            refused(connection, line) unless line.start_with?("STAT ")
            _, name, value = line.split(" ", 3)
            found[name] = value
          end
          connection.finish
          found
        end

        # With an encoding other than binary, Ruby could not append bytes that are not ASCII.
        def set_request(key, bytes, flags)
          append_set(String.new(capacity: key.bytesize + bytes.bytesize + 48), key, bytes, flags)
        end

        def append_set(request, key, bytes, flags)
          bytes = bytes.b unless bytes.encoding == Encoding::BINARY || bytes.ascii_only?
          request << "ms " << key << " " << bytes.bytesize.to_s << " " << flags << "\r\n" << bytes << "\r\n"
        end

        def cas_request(key, bytes, ttl, cas) = set_request(key, bytes, cas ? "T#{ttl} C#{cas}" : "T#{ttl}")

        # Does not use `ms` with mode E (ME): if memory is short, that mode drops the existing entry.
        def add_request(key, bytes, ttl)
          bytes = bytes.b unless bytes.encoding == Encoding::BINARY || bytes.ascii_only?
          String.new(capacity: key.bytesize + bytes.bytesize + 48) <<
            "add " << key << " 0 " << ttl.to_s << " " << bytes.bytesize.to_s << "\r\n" << bytes << "\r\n"
        end

        def claim_request(connection, key, bytes, ttl, token)
          token ? cas_request(key, bytes, ttl, token.cas_over(connection)) : add_request(key, bytes, ttl)
        end

        # "VA <bytes> <flags>*", then the value.
        def value(connection, line, deadline, more: false)
          refused(connection, line, more: more) unless line.start_with?("VA ")
          connection.read_value(line.byteslice(3, 11).to_i, deadline)
        end

        # @param line [String] a response line
        # @param flag [String] a space and the flag's letter
        # @return [Integer, nil] the flag's value
        def number(line, flag)
          at = line.byteindex(flag, 2)
          line.byteslice(at + 2, line.bytesize).to_i if at
        end

        # Like {#stored}, but returns a refusal instead of raising it, because the caller still has to read further
        # responses.
        #
        # @return [Symbol, ServerError]
        def stored_or_refusal(connection, line)
          return ServerError.new(line) if line.start_with?(REFUSAL) && !TOO_LARGE.match?(line)
          stored(connection, line)
        end

        def stored(connection, line)
          case line
          when "HD", "STORED" then :stored
          when "NS", "EX", "NF", "NOT_STORED" then :not_stored
          when TOO_LARGE then :too_large
          else refused(connection, line)
          end
        end

        def done?(connection, line, more: false)
          return true if line == "HD"
          return false if %w[NF EN].include?(line)
          refused(connection, line, more: more)
        end

        # After SERVER_ERROR, requests and responses still match. After any other error they may not, so the
        # connection stays busy and the pool closes it. The same holds if the server still owes responses.
        def refused(connection, line, more: false)
          case line
          when /\ASERVER_ERROR/
            connection.finish unless more
            raise ServerError, line
          when /\AERROR Too many open connections/ then raise TooManyConnections, line
          when /\A(CLIENT_)?ERROR\b/ then raise ServerError, line
          else raise Connection::Garbage, "unexpected response: #{line.byteslice(0, 40).inspect}"
          end
        end
      end
    end
  end
end
