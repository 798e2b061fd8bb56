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
        # The position of the key in a command, if it is not the first argument.
        KEY_AT = { "EVAL" => 3 }.freeze
        NO_NODE = "no node"
        CRC16 = Array.new(256) do |byte|
          8.times.inject(byte << 8) { |crc, _| crc.anybits?(0x8000) ? ((crc << 1) ^ 0x1021) & 0xFFFF : crc << 1 }
        end.freeze
        private_constant :READ_SECONDS, :MOVES, :KEY_AT, :NO_NODE, :CRC16

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

        # See {Single#call}.
        def call(command, key: nil, resend: true)
          at = command[KEY_AT[command.first] || 1]
          redirected(at, key, resend) { |connection, deadline| connection.call(command, deadline) }
        end

        # See {Single#on}.
        def on(key, resend: true, &) = redirected(key, key, resend, &)

        # @return [Object] the reply of any node
        def ask(command)
          reply = from_any(Clock.monotonic + @timeout) { |connection, deadline| connection.call(command, deadline) }
          reply.is_a?(ReplyError) ? raise(reply) : reply
        end

        # Sends the commands with one trip to each node. If some nodes do not answer, the other nodes' replies are
        # kept.
        #
        # @return [Array<Object>] the replies, including errors
        # @raise [BackendError] if no node answered
        def pipelined(commands)
          deadline = Clock.monotonic + @timeout
          replies = Array.new(commands.size)
          exchange(commands, commands.each_index, replies, deadline)
          MOVES.times do
            moved = replies.each_index.select { |index| moved?(replies[index]) }
            break if moved.empty?
            exchange(commands, moved, replies, deadline)
          end
          replies.each_index do |index|
            next unless replies[index].is_a?(ReplyError) && replies[index].code == "ASK"
            replies[index] = follow(replies[index], deadline) do |connection, _|
              connection.call(commands[index], deadline)
            end
          end
          replies
        end

        # @return [Array<String, nil, Exception>]
        def get_multi(keys) = pipelined(keys.map { |key| ["GET", key] })

        # @return [Array<Integer, Exception>] number of deleted keys, in parts
        def delete_multi(keys) = pipelined(keys.map { |key| ["UNLINK", key] })

        # @return [Array<#call>] a callable for each master; it sends a command to that master
        def each_server
          masters.map do |node|
            lambda do |command|
              reply = node.call(nil) { |connection, deadline| connection.call(command, deadline) }
              reply.is_a?(ReplyError) ? raise(reply) : reply
            end
          end
        end

        # @return [Array<Array(String, Integer)>] INFO and the number of keys for each master
        def infos = each_server.map { |server| [server.call(["INFO"]), server.call(["DBSIZE"])] }

        # @return [void]
        def renew
          @stale = true
          @nodes.each_value(&:renew)
        end

        # @return [void]
        def close = @nodes.each_value(&:close)

        private

        # Calls the node of a key, and follows redirections.
        #
        # @param key [String, nil] the key, for errors
        def redirected(at, key, resend, &)
          deadline = Clock.monotonic + @timeout
          slot = Cluster.slot(at)
          node = layout(deadline)[slot] || raise(nobody(slot, key))
          reply = noticing { node.call(key, resend: resend, deadline: deadline, &) }
          MOVES.times do
            break unless reply.is_a?(ReplyError) && %w[MOVED ASK].include?(reply.code)
            reply = noticing { follow(reply, deadline, key: key, resend: resend, &) }
          end
          reply.is_a?(ReplyError) ? raise(reply) : reply
        end

        # After a failure the next call reads the layout again: another node may have taken over.
        def noticing
          yield
        rescue Unavailable => error
          @stale = true if error.counts_for_breaker?
          raise
        end

        # @param redirection [ReplyError] "MOVED SLOT HOST:PORT" or "ASK SLOT HOST:PORT"
        def follow(redirection, deadline, key: nil, resend: true)
          node = moved?(redirection) || node_at(redirection.message.split[2])
          asking = redirection.code == "ASK"
          node.call(key, resend: resend, deadline: deadline) do |connection|
            connection.call(["ASKING"], deadline) if asking
            yield connection, deadline
          end
        end

        # @return [Remote::Node, false] the new node of a slot that has moved
        def moved?(reply)
          return false unless reply.is_a?(ReplyError) && reply.code == "MOVED"
          _, slot, place = reply.message.split
          @stale = true
          @layout[slot.to_i] = node_at(place)
        end

        def exchange(commands, indexes, replies, deadline)
          layout = layout(deadline)
          parts = indexes.group_by { |index| layout[Cluster.slot(commands[index][KEY_AT[commands[index].first] || 1])] }
          lost = parts.delete(nil)
          failures = Remote::Exchange.new(
            deadline,
            ->(at, connection, _) { connection.write_all(commands.values_at(*at), deadline) },
            lambda do |at, connection, _|
              connection.read_all(at.size, deadline).each_with_index { |reply, index| replies[at[index]] = reply }
            end
          ).run(parts)
          return if failures.empty? && lost.nil?
          @stale = true if failures.each_value.any?(&:counts_for_breaker?)
          fail_partly(failures, lost, parts, replies)
        end

        # One error stands for all missing replies.
        def fail_partly(failures, lost, parts, replies)
          errors = failures.transform_keys { |node| node.name.delete_prefix("redis://") }
          errors[NO_NODE] = nobody(nil, nil) if lost
          first = errors.each_value.find { |error| !error.is_a?(BreakerOpen) } || errors.each_value.first
          missing = failures.keys.flat_map { |node| parts[node] } + (lost || [])
          raise first if missing.size == replies.size
          nodes = errors.map { |node, error| "#{node} (#{OneLine.of(error.reason)})" }
          error = first.class.new("#{missing.size} of #{replies.size} keys have no answer: #{nodes.join(", ")}",
                                  backend: @name)
          missing.each { |index| replies[index] = error }
        end

        # A refusal, so that the breaker stays closed: it costs no trip, and other slots may work.
        def nobody(slot, key)
          @stale = true
          Refused.new("#{NO_NODE} of the cluster serves #{slot ? "the slot #{slot}" : "these slots"} at present",
                      backend: @name, key: key)
        end

        def masters = layout(Clock.monotonic + @timeout).compact.uniq

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
          text, host = from_any(deadline) do |connection, until_then|
            [connection.call(%w[CLUSTER NODES], until_then), connection.host]
          end
          raise text if text.is_a?(ReplyError)
          layout = Array.new(SLOTS)
          text.each_line do |line|
            _, place, flags, _, _, _, _, _, *ranges = line.split
            next if !flags.include?("master") || flags.match?(/\bfail\b(?!\?)|noaddr|handshake/) || ranges.empty?
            node = node_at(announced(place), host)
            ranges.grep_v(/\A\[/).each do |range|
              first, last = range.split("-").map(&:to_i)
              layout.fill(node, first..(last || first))
            end
          end
          drop(layout)
          layout
        end

        # @param place [String] "ADDRESS:PORT@PORT", or with ",HOSTNAME" behind it
        def announced(place)
          address, name = place.split(",")
          address = address[/\A[^@]*/]
          name.to_s.empty? ? address : "#{name}#{address[/:\d+\z/]}"
        end

        # Asks the nodes one after the other; each gets half of the remaining time.
        def from_any(deadline, &)
          failure = nil
          nodes = [*@nodes.values, *@address.hosts.map { |host, port| node_at("#{host}:#{port}") }].uniq
          nodes.sort_by { |node| node.answering? ? 0 : 1 }.each do |node|
            now = Clock.monotonic
            break if now >= deadline
            return node.call(nil, deadline: now + ((deadline - now) / 2), &)
          rescue BackendError => failure
            next
          end
          raise failure || TimedOut.new("no node answered within the time budget", backend: @name)
        end

        # @param place [String] "HOST:PORT"; without a host, the host of the node that sent it
        # @return [Remote::Node]
        def node_at(place, asked = nil)
          at = place.rindex(":")
          port = Integer(place[(at + 1)..])
          host = @address.fixed_hostname || place[0...at]
          host = asked || @address.hosts.first.first if host.empty?
          name = "#{host}:#{port}"
          @nodes[name] || @lock.synchronize do
            @nodes[name] || begin
              node = Remote::Node.new("redis://#{name}", timeout: @timeout, pool: @pool, breaker: Breaker.new) do
                @address.connection(host, port)
              end
              @nodes = { **@nodes, name => node }
              node
            end
          end
        end

        # Forgets nodes that have left. Calls in progress finish over their connections.
        def drop(layout)
          present = layout.uniq
          @lock.synchronize do
            gone = @nodes.reject { |_, node| present.include?(node) }
            @nodes = @nodes.except(*gone.keys)
            gone.each_value(&:close)
          end
        end
      end
    end
  end
end
