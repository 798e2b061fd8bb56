# frozen_string_literal: true

# Lists the keys of one server. "lru_crawler metadump hash" walks its hash table; older servers know only "all", which
# walks the LRU lists and skips items in use.
#
# While the server waits for a slow reader, it locks a part of its table, and the reader's next request could need that
# lock. The keys are therefore read at full speed into memory, and passed to the caller afterwards.
class Tiercel::Backends::Memcached::KeyDump
  # The server's response while it lists keys for another client, because it can run only one list at a time. From
  # 1.6.29 on it also sends this while its table grows.
  LATER = ["BUSY", "ERROR locked"].freeze
  # Range of the pause before the next attempt, about as long as one list of a small cache. The pause is random, so
  # that no client always comes too late.
  PAUSE_SECONDS = (0.005..0.02)
  # Minimum budget for the wait until the first key. A client that requests a list while the server sends another one
  # gets no response until the other list is complete.
  TURN_SECONDS = 2.0
  # Minimum time left for a request. On a busy machine, a shorter request would get no response, so that the error
  # would not contain the server's reason.
  LEAST_SECONDS = 0.2
  # Clients of the binary protocol can store keys with spaces or line feeds, which would break a text command.
  IMPOSSIBLE = /[\x00-\x20\x7F]/n
  private_constant :LATER, :PAUSE_SECONDS, :TURN_SECONDS, :LEAST_SECONDS, :IMPOSSIBLE

  # @param node [Node]
  # @param timeout [Float] seconds for each step
  def initialize(node, timeout)
    @node = node
    @timeout = timeout
  end

  # @param beginnings [Array<String>] only keys that begin with one of them
  # @yieldparam wire_key [String]
  # @return [void]
  # @raise [BackendError] {Refused} if the server has no crawler, or if other clients keep it busy
  def each(beginnings, &)
    wire_keys = String.new # a String for each key would need several times the memory
    @node.call(nil, resend: false) do |connection, deadline|
      line = first_line(connection, deadline)
      until line.start_with?("END")
        key = line[/\Akey=(\S+)/, 1] or refuse("metadump: #{line.chomp}")
        key = Tiercel::Backends::Memcached::WireKey.unescape(key)
        wire_keys << key << "\n" if key.start_with?(*beginnings) && !IMPOSSIBLE.match?(key)
        line = connection.read_line(Tiercel::Clock.monotonic + @timeout, "\n")
      end
      connection.finish
    end
    wire_keys.each_line(chomp: true, &)
  end

  private

  def first_line(connection, deadline)
    reply(connection, "mn", deadline) # detects a hung server within the budget
    deadline = Tiercel::Clock.monotonic + [@timeout, TURN_SECONDS].max
    while (line = reply(connection, "lru_crawler metadump hash", deadline)).start_with?(*LATER)
      over = Tiercel::Clock.monotonic + LEAST_SECONDS > deadline
      refuse("others have kept the server busy with lists of its keys (#{line.chomp}); nothing was listed") if over
      sleep(rand(PAUSE_SECONDS))
    end
    line = reply(connection, "lru_crawler metadump all", deadline) if line.start_with?("BADCLASS", "ERROR")
    line.start_with?("OK") ? connection.read_line(deadline, "\n") : line # servers from 1.6.45 on announce the list
  end

  def reply(connection, command, deadline)
    connection.write("#{command}\r\n", deadline)
    connection.read_line(deadline, "\n")
  end

  def refuse(reason) = raise(Tiercel::Refused.new(reason, backend: @node.name))
end
