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
        # What one crawl of another client takes on a small cache.
        BUSY_SECONDS = 0.02

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
            key = line[/\Akey=(\S+)/, 1] or raise Refused.new("metadump: #{line}", backend: @node.name)
            yield WireKey.unescape(key)
            line = connection.read_line(@node.deadline, "\n")
          end
        rescue *Node::NETWORK_ERRORS => error
          raise @node.failure(error)
        ensure
          connection&.close
        end

        def first_line(connection)
          deadline = @node.deadline
          connection.open(deadline)
          request, *others = REQUESTS
          loop do
            connection.write(request, deadline)
            line = connection.read_line(deadline, "\n")
            next request = others.shift if line.start_with?("BADCLASS", "ERROR") && others.any?
            return line unless line.start_with?("BUSY")
            raise Refused.new(line, backend: @node.name) if Clock.monotonic > deadline
            sleep(BUSY_SECONDS)
          end
        end
      end
    end
  end
end
