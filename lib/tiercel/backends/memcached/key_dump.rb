# frozen_string_literal: true

require_relative "../../backend"
require_relative "connection"
require_relative "wire_key"

module Tiercel
  module Backends
    class Memcached < Backend
      # The keys of one server, as its LRU crawler tells them ("lru_crawler
      # metadump all", memcached 1.4.31 and later). It blocks no other client,
      # and takes a connection of its own, since its answer has no known end.
      class KeyDump
        REQUEST = "lru_crawler metadump all\r\n"
        # What one crawl of another client takes on a small cache.
        BUSY_SECONDS = 0.02

        # @param node [Node]
        def initialize(node)
          @node = node
        end

        # @yieldparam wire_key [String]
        # @return [void]
        # @raise [BackendError] {Refused} where the server has no crawler, or others keep it busy
        def each
          connection = @node.connection
          line = ask { first_line(connection) }
          until line.start_with?("END")
            raise Refused.new("metadump: #{line}", backend: @node.name) unless line.start_with?("key=")
            yield WireKey.unescape(line[/\Akey=(\S+)/, 1])
            line = ask { connection.read_line(@node.deadline, "\n") }
          end
        ensure
          connection&.close
        end

        private

        # What the caller's block raises is not the server's.
        def ask
          yield
        rescue *Node::NETWORK_ERRORS => error
          raise @node.failure(error)
        end

        def first_line(connection)
          deadline = @node.deadline
          connection.open(deadline)
          loop do
            connection.write(REQUEST, deadline)
            line = connection.read_line(deadline, "\n")
            return line unless line.start_with?("BUSY")
            raise Refused.new(line, backend: @node.name) if Clock.monotonic > deadline
            sleep(BUSY_SECONDS)
          end
        end
      end
    end
  end
end
