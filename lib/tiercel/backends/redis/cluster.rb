# frozen_string_literal: true

module Tiercel
  module Backends
    class Redis < Backend
      # Sends commands to a Redis Cluster: each command to the node of its key's slot, operations on many keys as one
      # {Remote::Exchange} with all nodes. No command contains keys of two slots.
      #
      # The layout is read from any node that answers: before the first call, after a node has failed, and after a slot
      # has moved. A node that fails has its own breaker, so that it does not delay calls for the other nodes' keys.
      class Cluster
        SLOTS = 16_384
        # Minimum number of seconds between two reads of the layout. A reply reports a moved slot at once.
        READ_SECONDS = 0.5
        # Redirections that one call follows.
        MOVES = 5
        # An address as nodes announce it: "HOST:PORT", "HOST:PORT@PORT" or "HOST:PORT@PORT,HOSTNAME".
        PLACE = /\A(.*):(\d+)(?:@\d+)?(?:,([^,]*))?/
        CRC16 = Array.new(256) do |byte|
          8.times.inject(byte << 8) { |crc, _| crc.anybits?(0x8000) ? ((crc << 1) ^ 0x1021) & 0xFFFF : crc << 1 }
        end.freeze
        private_constant :READ_SECONDS, :MOVES, :PLACE, :CRC16

        # @param key [String]
        # @return [Integer] the slot of the key, or of the part in braces
        def self.slot(key)
          key = key.b
          if (left = key.byteindex("{")) && (right = key.byteindex("}", left + 1)) && right > left + 1
            key = key.byteslice(left + 1, right - left - 1)
          end
          crc = 0
          key.each_byte { |byte| crc = ((crc << 8) & 0xFFFF) ^ CRC16[(crc >> 8) ^ byte] }
          crc % SLOTS
        end

        # @param name [String] for errors
        # @param address [Address]
        # @param timeout [Float] seconds for one call
        # @param pool [Hash] the pool of each node, see {Options.values}
        def initialize(name, address, timeout:, pool:)
          @name = name
          @address = address
          @timeout = timeout
          @pool = pool
          @lock = Mutex.new
          @nodes = {}
          @layout = nil
          @read_at = -READ_SECONDS
        end

        # Calls the node of a key, and follows redirections; see {Single#on}.
        def on(key, resend: true, &)
          deadline = Clock.monotonic + @timeout
          slot = Cluster.slot(key)
          node = layout(deadline)[slot] || raise(nobody("the slot #{slot}", key))
          follow(node.call(key, resend: resend, deadline: deadline, &), deadline, key: key, resend: resend, &)
        rescue Unavailable => error
          @stale = true if error.counts_for_breaker? # another node may have taken over
          raise
        end

        # Sends the commands with one trip to each node. If some nodes do not answer, the other nodes' replies are
        # kept. Redirected commands are few, because a redirection updates the layout; each takes a trip of its own.
        #
        # @return [Array<Object>] the replies, including errors
        def pipelined(commands)
          deadline = Clock.monotonic + @timeout
          replies = Array.new(commands.size)
          exchange(commands, replies, deadline)
          replies.each_with_index do |reply, index|
            replies[index] = follow(reply, deadline) { |connection, _| connection.call(commands[index], deadline) }
          rescue BackendError => error
            replies[index] = error
          end
        end

        # @return [Array<Remote::Node>] the masters
        def nodes
          nodes = layout(Clock.monotonic + @timeout).compact.uniq
          nodes.empty? ? raise(nobody("any slot", nil)) : nodes
        end

        # @return [Boolean] whether at least one node is not known to be failing
        def answering? = @nodes.each_value.any?(&:answering?)

        # @return [void]
        def renew
          @stale = true
          @nodes.each_value(&:renew)
        end

        # @return [void]
        def close = @nodes.each_value(&:close)

        private

        # Sends a redirected request to the node that the reply names: "MOVED SLOT HOST:PORT" or "ASK SLOT HOST:PORT".
        #
        # @return [Object] the first reply that is no redirection
        def follow(reply, deadline, key: nil, resend: true)
          MOVES.times do
            break unless reply.is_a?(ReplyError) && %w[MOVED ASK].include?(reply.code)
            code, slot, place = reply.message.split
            node = node_at(place)
            if code == "MOVED"
              @stale = true
              @layout[slot.to_i] = node
            end
            reply = node.call(key, resend: resend, deadline: deadline) do |connection|
              connection.call(["ASKING"], deadline) if code == "ASK"
              yield connection, deadline
            end
          end
          reply
        end

        def exchange(commands, replies, deadline)
          layout = layout(deadline)
          parts = replies.each_index.group_by do |index|
            command = commands[index]
            layout[Cluster.slot(command[command.first == "EVAL" ? 3 : 1])]
          end
          parts.delete(nil)&.each { |index| replies[index] = nobody("these slots", nil) }
          failures = Remote::Exchange.new(deadline) do |indexes, connection|
            connection.write_all(commands.values_at(*indexes), deadline)
          end.run(parts, replies)
          @stale = true if failures.each_value.any?(&:counts_for_breaker?)
        end

        # A refusal, so that the breaker stays closed: it costs no trip, and other slots may work.
        def nobody(slots, key)
          @stale = true
          Refused.new("no node of the cluster serves #{slots} at present", backend: @name, key: key)
        end

        # @return [Array<Remote::Node, nil>] the node of each slot
        def layout(deadline)
          return @layout if @layout && (!@stale || Clock.monotonic - @read_at < READ_SECONDS)
          known = @layout
          @stale = false
          @read_at = Clock.monotonic
          @layout = read_layout(deadline)
        rescue BackendError
          @stale = true
          known || raise
        end

        def read_layout(deadline)
          text, host = cluster_nodes(deadline)
          layout = Array.new(SLOTS)
          text.each_line do |line|
            _, place, flags, _, _, _, _, _, *ranges = line.split
            next if !flags.include?("master") || flags.match?(/\bfail\b(?!\?)|noaddr|handshake/) || ranges.empty?
            node = node_at(place, host)
            ranges.grep_v(/\A\[/).each do |range|
              first, last = range.split("-").map(&:to_i)
              layout.fill(node, first..(last || first))
            end
          end
          drop(layout)
          layout
        end

        # Asks the nodes one after the other; each gets half of the remaining time.
        #
        # @return [Array(String, String)] the reply, and the host of the node that has sent it
        def cluster_nodes(deadline)
          failure = nil
          nodes = [*@nodes.values, *@address.hosts.map { |host, port| node_at("#{host}:#{port}") }].uniq
          nodes.sort_by { |node| node.answering? ? 0 : 1 }.each do |node|
            now = Clock.monotonic
            break if now >= deadline
            return node.call(nil, deadline: now + ((deadline - now) / 2)) do |connection, until_then|
              text = connection.call(%w[CLUSTER NODES], until_then)
              text.is_a?(ReplyError) ? raise(text) : [text, connection.host]
            end
          rescue BackendError => failure
            next
          end
          raise failure || TimedOut.new("no node answered within the time budget", backend: @name)
        end

        # @param place [String] see {PLACE}
        # @param asked [String, nil] the host of the node that has announced it: its own host may be missing
        # @return [Remote::Node]
        def node_at(place, asked = nil)
          address, port, hostname = place.match(PLACE).captures
          host = @address.fixed_hostname || [hostname, address].find { |part| !part.to_s.empty? }
          host ||= asked || @address.hosts.first.first
          name = "#{host}:#{port}"
          @nodes[name] || @lock.synchronize do
            node = Remote::Node.new("redis://#{name}", timeout: @timeout, pool: @pool, breaker: Breaker.new) do
              @address.connection(host, port.to_i)
            end
            @nodes = { name => node, **@nodes } # keeps the node that another thread has added by now
            @nodes[name]
          end
        end

        # Forgets nodes that have left. Calls in progress finish over their connections.
        def drop(layout)
          present = layout.uniq
          @lock.synchronize do
            @nodes, gone = @nodes.partition { |_, node| present.include?(node) }.map(&:to_h)
            gone.each_value(&:close)
          end
        end
      end
    end
  end
end
