# frozen_string_literal: true

module Tiercel
  module Backends
    # Lists the keys of one server. "lru_crawler metadump hash" walks its hash table (memcached 1.6; "all" walks the
    # LRU lists and skips items in use). It needs its own connection.
    #
    # While the server waits for a slow reader, it locks a part of its table, and the reader's next request could
    # need that lock. The keys are therefore read at full speed into memory, and passed to the caller afterwards.
    class Memcached::KeyDump
      REQUESTS = ["lru_crawler metadump hash\r\n", "lru_crawler metadump all\r\n"].freeze
      # The server's response while it lists keys for another client, because it can run only one list at a time.
      # From 1.6.29 on it also sends this while its table grows.
      LATER = ["BUSY", "ERROR locked"].freeze
      # Newer servers (seen with 1.6.45) send this line before the list.
      STARTED = "OK"
      # Range of the pause before the next attempt, about as long as one list of a small cache. The pause is random,
      # so that no client always comes too late.
      PAUSE_SECONDS = (0.005..0.02)
      HELLO = "mn\r\n"
      # Minimum budget for the wait until the first key. A client that requests a list while the server sends another
      # one gets no response until the other list is complete.
      TURN_SECONDS = 2.0
      # Minimum time left for a request. On a busy machine, a shorter request would get no response, so that the error
      # would not contain the server's reason.
      LEAST_SECONDS = 0.2

      # @param node [Node]
      def initialize(node)
        @node = node
      end

      # @param prefix [String, nil] only keys that begin with it
      # @yieldparam wire_key [String]
      # @return [void]
      # @raise [BackendError] {Refused} if the server has no crawler, or if other clients keep it busy
      def each(prefix = nil, &)
        lines = String.new # a String for each key would need several times the memory
        read { |wire_key| lines << wire_key << "\n" if ours?(wire_key, prefix) }
        lines.each_line(chomp: true, &)
      end

      private

      # Clients of the binary protocol can store keys with spaces or line feeds, which would break a text command.
      def ours?(wire_key, prefix)
        Memcached::WireKey.possible?(wire_key) && (prefix.nil? || Memcached::WireKey.prefix?(wire_key, prefix))
      end

      def read
        connection = @node.connection
        line = first_line(connection)
        until line.start_with?("END")
          key = line[/\Akey=(\S+)/, 1] or raise Refused.new("metadump: #{line.chomp}", backend: @node.name)
          yield Memcached::WireKey.unescape(key)
          line = connection.read_line(@node.deadline, "\n")
        end
      rescue *Remote::Node::NETWORK_ERRORS => error
        raise @node.failure(error)
      ensure
        connection&.close
      end

      def first_line(connection)
        connection.open(@node.deadline)
        reply(connection, HELLO, @node.deadline) # detects a hung server within the budget
        give_up_at = [@node.deadline, Clock.monotonic + TURN_SECONDS].max
        request, *others = REQUESTS
        loop do
          line = reply(connection, request, give_up_at)
          if line.start_with?(*LATER)
            raise refused_turn(line) if Clock.monotonic + LEAST_SECONDS > give_up_at
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
