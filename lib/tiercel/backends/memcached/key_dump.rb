# frozen_string_literal: true

require_relative "../../backend"
require_relative "connection"
require_relative "key_spool"
require_relative "wire_key"

module Tiercel
  module Backends
    class Memcached < Backend
      # The keys of one server: "lru_crawler metadump hash" walks its hash table
      # (memcached 1.6; "all" walks the LRU lists, and skips items that are in
      # use). It takes a connection of its own.
      #
      # The server holds the lock of a part of its table while it waits for a
      # slow reader, and the reader's next request could need that lock. So the
      # keys are read as fast as they come, into a {KeySpool}, and given to the
      # caller after.
      class KeyDump
        REQUESTS = ["lru_crawler metadump hash\r\n", "lru_crawler metadump all\r\n"].freeze
        # The server's answer while it lists keys for another client, since it makes one list at a time, and (from
        # 1.6.29 on) while its table grows.
        LATER = ["BUSY", "ERROR locked"].freeze
        # Newer servers (seen: 1.6.45) announce the list.
        STARTED = "OK"
        # Before it is asked again: about what one list of a small cache takes. It differs from client to client, so
        # that none of several is always the late one.
        PAUSE_SECONDS = (0.005..0.02)
        HELLO = "mn\r\n"
        # How long to wait for one's turn and the first key, where the budget of a call is shorter: whoever asks while
        # a list is made gets no reply before the server comes to it.
        TURN_SECONDS = 2.0

        # @param node [Node]
        def initialize(node)
          @node = node
        end

        # @param prefix [String, nil] only keys that begin with it
        # @yieldparam wire_key [String]
        # @return [void]
        # @raise [BackendError] {Refused} where the server has no crawler, where others keep it busy, or where there is
        #   no room for the keys
        def each(prefix = nil, &)
          spool = KeySpool.new(@node.name)
          read { |wire_key| spool.add(wire_key) if ours?(wire_key, prefix) }
          spool.each(&)
        ensure
          spool&.close
        end

        private

        # Clients of the binary protocol can store keys that would be several words, or lines, of a command.
        def ours?(wire_key, prefix)
          WireKey.possible?(wire_key) && (prefix.nil? || WireKey.prefix?(wire_key, prefix))
        end

        def read
          connection = @node.connection
          line = first_line(connection)
          until line.start_with?("END")
            key = line[/\Akey=(\S+)/, 1] or raise Refused.new("metadump: #{line.chomp}", backend: @node.name)
            yield WireKey.unescape(key)
            line = connection.read_line(@node.deadline, "\n")
          end
        rescue *Node::NETWORK_ERRORS => error
          raise @node.failure(error)
        ensure
          connection&.close
        end

        def first_line(connection)
          connection.open(@node.deadline)
          reply(connection, HELLO, @node.deadline) # one that hangs is found out within the budget
          give_up_at = [@node.deadline, Clock.monotonic + TURN_SECONDS].max
          request, *others = REQUESTS
          loop do
            line = reply(connection, request, give_up_at)
            if line.start_with?(*LATER)
              raise refused_turn(line) if Clock.monotonic + PAUSE_SECONDS.max > give_up_at
              sleep(rand(PAUSE_SECONDS))
            elsif line.start_with?("BADCLASS", "ERROR") && others.any?
              request = others.shift
            elsif line.start_with?(STARTED)
              return connection.read_line(give_up_at, "\n")
            else
              return line
            end
          end
        end

        def reply(connection, request, deadline)
          connection.write(request, deadline)
          connection.read_line(deadline, "\n")
        end

        def refused_turn(line)
          Refused.new("others have kept the server busy with lists of its keys (#{line.chomp}); nothing " \
                      "was listed", backend: @node.name)
        end
      end
    end
  end
end
