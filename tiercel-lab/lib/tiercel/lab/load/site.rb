# frozen_string_literal: true

require_relative "../engine"
require_relative "../engine/server_cpu"
require_relative "../network"
require_relative "../servers"

module Tiercel
  module Lab
    module Load
      # The servers of a run, each with a delay proxy in front of it.
      class Site
        # The same limits for memcached and Redis: enough memory, largest item 8 MB.
        MEMORY_MB = 256
        LARGEST_ITEM = "8m"
        # A request with a single line as its answer.
        QUESTIONS = { memcached: "version\r\n", redis: "PING\r\n" }.freeze
        # A server in the text of a contestant, without user and password.
        OWN_URL = %r{(?:\A|=|:)(?<type>memcached|redis)://(?<host>[^@:/,]+)(?::(?<port>\d+))?(?:[/,?]|\z)}

        # @param names [Array<Symbol>] :memcached, :redis
        # @param pinning [Engine::Pinning]
        def initialize(names, pinning:)
          @names = names
          @pinning = pinning
          @servers = {}
          @proxies = {}
          @failures = {}
        end

        # @return [self]
        def start
          @names.each { |name| start_one(name) }
          self
        end

        # @return [void]
        def stop
          @proxies.each_value(&:stop)
          @servers.each_value(&:stop)
        end

        # @param far [Boolean] whether to go through the proxy
        # @return [Hash{Symbol => Hash}] see {Engine::Context}
        def facts(far:)
          @names.to_h do |name|
            place = far ? @proxies[name] : @servers[name]
            next [name, { "error" => @failures.fetch(name) }] unless place
            [name, { "url" => place.url, "address" => (place.address if place.respond_to?(:address)) }.compact]
          end
        end

        # @param slot [#proxied?, #delay_ms, #megabits] the distance that the proxies shall simulate
        # @return [void]
        def move_to(slot)
          return unless slot.proxied?
          delay = slot.delay_ms / 1e3
          bytes_per_second = slot.megabits && (slot.megabits * 1e6 / 8)
          return if [delay, bytes_per_second] == @distance
          @proxies.each_value { |proxy| proxy.change(delay:, bytes_per_second:) }
          @distance = [delay, bytes_per_second]
        end

        # @param contestant [Contestant]
        # @return [Float, nil] CPU seconds of its servers so far
        def cpu_seconds(contestant)
          pids = contestant.servers.filter_map { |name| @servers[name]&.pid }
          Engine::ServerCPU.seconds(pids) if pids.any?
        end

        # The server and request that measure the round trip.
        #
        # @param slot [#proxied?, #kind, #contestant]
        # @return [Hash, nil] host, port, request; nil without a server
        def question(slot)
          return question_of_own(slot.contestant.text) if slot.kind == "own"
          name = slot.contestant.servers.first or return
          place = slot.proxied? ? @proxies[name] : @servers[name]
          place && { host: Servers::Server::HOST, port: place.port, request: QUESTIONS.fetch(name) }
        end

        # @return [Hash{String => String}] versions by name
        def versions = @servers.to_h { |name, server| [name.to_s, server.version] }

        private

        def start_one(name)
          server = build(name).start
          @servers[name] = server
          @proxies[name] = Network::Proxy.new(server, cpu: @pinning.server_cpu).start
        rescue Servers::Error => e
          @failures[name] = e.message.lines.first.strip
        rescue IO::TimeoutError
          @failures[name] = "the delay proxy did not start within #{Network::Proxy::ANSWER_SECONDS} s: the machine " \
                            "is too busy"
        end

        def build(name)
          case name
          when :memcached
            Servers::Memcached.new(memory_mb: MEMORY_MB, max_item: LARGEST_ITEM, cpu: @pinning.server_cpu)
          when :redis then Servers::Redis.new(cpu: @pinning.server_cpu)
          else raise UsageError, "latency through #{name} is not measured; memcached and redis are"
          end
        end

        # The server of a contestant's URL. Servers with TLS or a password are left out.
        def question_of_own(text)
          match = OWN_URL.match(text) or return
          name = match[:type].to_sym
          port = Integer(match[:port] || { memcached: 11_211, redis: 6_379 }.fetch(name))
          { host: match[:host], port:, request: QUESTIONS.fetch(name) }
        end
      end
    end
  end
end
