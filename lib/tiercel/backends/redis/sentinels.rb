# frozen_string_literal: true

module Tiercel
  module Backends
    class Redis < Backend
      # The Sentinels of one master. They report the server for each new connection, and other Sentinels. Each query
      # gets half of the remaining time. A Sentinel that has failed moves to the end of the list.
      class Sentinels
        DOWN = /s_down|o_down|disconnected/
        private_constant :DOWN

        # @return [Symbol] :master or :replica
        attr_reader :role
        # @return [Array<Array(String, Integer, Boolean)>] host, port, and whether it uses TLS
        attr_reader :places

        # @param name [String] the master's name
        # @param role [Symbol] :master or :replica
        # @param places [Array<Array>] arguments of `connect`
        # @yieldparam host [String]
        # @yieldparam port [Integer]
        # @yieldparam tls [Boolean]
        # @yieldreturn [Connection]
        def initialize(name, role, places, &connect)
          @name = name
          @role = role
          @places = places
          @connect = connect
          @found = nil
        end

        # @param deadline [Float]
        # @return [Array(String, Integer)] host and port
        # @raise [IOError, SystemCallError]
        def find(deadline)
          @found || begin
            failure = nil
            @places.dup.each do |place|
              now = Clock.monotonic
              break if now >= deadline
              return @found = ask(place, now + ((deadline - now) / 2))
            rescue *Remote::Node::NETWORK_ERRORS, ReplyError => failure
              @places = [*(@places - [place]), place]
            end
            raise failure || IO::TimeoutError.new("no Sentinel answered within the time budget")
          end
        end

        # Makes the next connection ask again.
        #
        # @return [void]
        def forget
          @found = nil
        end

        private

        def ask(place, deadline)
          connection = @connect.call(*place)
          connection.open(deadline)
          what = @role == :master ? "get-master-addr-by-name" : "replicas"
          server, others = [what, "sentinels"].map do |question|
            reply = connection.call(["SENTINEL", question, @name], deadline)
            reply.is_a?(ReplyError) && question == what ? raise(reply) : reply
          end
          learn(others, place.last)
          found = @role == :master ? server : replica(server)
          return [found[0], Integer(found[1])] if found.is_a?(Array) && found.size == 2
          raise IOError, "the Sentinel #{place[0]}:#{place[1]} knows no #{@role} of #{@name.inspect}"
        ensure
          connection&.close
        end

        def replica(list)
          details = Array(list).map { |fields| fields.each_slice(2).to_h }
          details.reject { |one| DOWN.match?(one["flags"].to_s) }.sample&.values_at("ip", "port")
        end

        def learn(others, tls)
          return unless others.is_a?(Array)
          announced = others.grep(Array).filter_map do |fields|
            ip, port = fields.each_slice(2).to_h.values_at("ip", "port")
            [ip, Integer(port), tls] if ip && port.to_s.match?(/\A\d+\z/)
          end
          @places |= announced
        end
      end
    end
  end
end
