# frozen_string_literal: true

module Tiercel
  class Backends::Redis < Backend
    # The servers that a URL and options describe, and connections to them.
    class Address
      SECURE = /\Arediss/
      # User and password, the hosts, and the number of the database.
      PLACE = %r{\A(?:(.*)@)?([^/]*)(?:/(.*?))?/?\z}m
      PORT = 6379
      SENTINEL_PORT = 26_379
      FOR_ONE_MASTER = %i[sentinels name sentinel_username sentinel_password].freeze
      private_constant :SECURE, :PLACE, :PORT, :SENTINEL_PORT, :FOR_ONE_MASTER

      # @param url [BackendURL]
      # @param options [Hash] the options of {Redis.build}
      # @raise [ConfigurationError]
      def initialize(url, options)
        @url = url
        @options = options
        @connect_timeout = options[:connect_timeout]
        login, hosts, database = url.scheme == "unix" ? [nil, url.rest.delete_prefix("//"), nil] : parts
        @login = login(login)
        @database = number(options[:db] || database)
        @hosts = url.scheme == "unix" ? [[hosts, nil]] : places(hosts)
        given = options[:sentinels]
        given = given.is_a?(String) ? given.split(",") : [given].flatten
        sentinels = given.compact.map { |sentinel| sentinel_place(sentinel) }
        @tls = Backends::Remote::TLSContext.build(options[:ssl_params]) if secure? || sentinels.any?(&:last)
        @sentinels = build_sentinels(sentinels, hosts) if options[:sentinels]
        check
      end

      # @return [Boolean]
      def cluster? = @url.scheme.end_with?("+cluster")

      # @return [Integer] number of the database
      attr_reader :database
      # @return [Sentinels, nil]
      attr_reader :sentinels
      # @return [Array<Array(String, Integer)>] hosts and ports
      attr_reader :hosts

      # @return [String, nil] for a cluster: the name of all nodes
      def fixed_hostname = @options[:fixed_hostname]

      # @param host [String] by default the URL's
      # @param port [Integer]
      # @param servers [SeenServers, nil] receives the server of the connection
      # @param protocol [Integer] the version of RESP
      # @return [Connection] not open yet
      def connection(host = @hosts.first[0], port = @hosts.first[1], servers: nil, protocol: 2)
        Connection.new(host, port, login: @login, database: @database, protocol: protocol, sentinels: @sentinels,
                                   servers: servers, connect_timeout: @connect_timeout, tls: (@tls if secure?))
      end

      private

      def secure? = SECURE.match?(@url.scheme)

      def parts
        @url.place.match(PLACE)&.captures || raise(unreadable)
      end

      # @return [#call, nil] gives the password, or user and password, for a new connection
      def login(text)
        user, word = text.to_s.split(":", 2).map { |part| decode(part) }
        user, word = nil, user if word.nil? # only one: the password, unless an option is
        user = @options[:username] || user
        word = @options[:password] || word
        return if word.nil? || word == ""
        user = nil if user == ""
        -> { [user, word.respond_to?(:call) ? word.call(user || "default") : word].compact }
      end

      def decode(text)
        raise unreadable if text.match?(/%(?!\h\h)/)
        text.gsub(/%\h\h/) { |code| code[1..].hex.chr }
      end

      def places(hosts)
        places = hosts.split(",").map(&:strip).reject(&:empty?)
        if places.empty?
          raise ConfigurationError, "#{@url}: expected #{@url.scheme}://HOST:PORT[,HOST:PORT]" if cluster?
          places = ["127.0.0.1"]
        end
        places.map { |place| BackendURL.host_and_port(@url, place.sub(/\A.*@/, ""), PORT) || raise(unreadable) }
      end

      def number(database)
        return 0 if database.nil? || database == ""
        Integer(database, exception: false)&.then { |number| return number unless number.negative? }
        raise ConfigurationError, "#{@url}: database #{Redacted.text(database)}: expected a number"
      end

      def check
        if @url.scheme == "unix"
          raise ConfigurationError, "#{@url}: expected unix:/PATH" if @hosts.first.first.empty?
        elsif cluster?
          given = FOR_ONE_MASTER.select { |name| @options[name] }
          given << :db unless @database.zero?
          return if given.empty?
          raise ConfigurationError, "#{@url}: #{given.join(", ")}: a cluster does not support this, because it " \
                                    "finds its masters itself and has only one database"
        elsif @hosts.size > 1
          raise ConfigurationError, "#{@url}: expected one server. Several are " \
                                    "redis+cluster://HOST:PORT,HOST:PORT, or one master with the option sentinels:"
        end
      end

      # @param places [Array<Array(String, Integer, Boolean)>] host, port, and whether it uses TLS
      # @param given [String] the URL's hosts, "" without one
      def build_sentinels(places, given)
        raise ConfigurationError, "sentinels: expected at least one HOST:PORT, got none" if places.empty?
        name = @options[:name] || (@hosts.first.first unless given.empty?)
        name or raise ConfigurationError, "sentinels: needs the master's name: \"redis://mymaster/0\", or " \
                                          "name: \"mymaster\""
        login = @options.values_at(:sentinel_username, :sentinel_password).compact
        Sentinels.new(name, places) do |host, port, tls|
          Connection.new(host, port, login: (-> { login } if login.any?), connect_timeout: @connect_timeout,
                                     tls: (@tls if tls))
        end
      end

      # @param given [String, Hash] HOST[:PORT] or [ADDRESS][:PORT], or with rediss:// before it for TLS; or its parts
      # @return [Array(String, Integer, Boolean)]
      def sentinel_place(given)
        if given.is_a?(Hash)
          url, host, port, ssl = given.transform_keys(&:to_sym).values_at(:url, :host, :port, :ssl)
          given = url || (host && "#{"rediss://" if ssl}[#{host}]:#{port || SENTINEL_PORT}")
        end
        scheme, text = given.to_s.strip.match(%r{\A(?:(rediss?)://)?(.*?)/?\z}m).captures
        host, port = BackendURL.host_and_port("sentinels: #{text}", text, SENTINEL_PORT)
        raise ConfigurationError, "sentinels: expected HOST:PORT, got #{Redacted.text(given)}" unless host
        [host, port, scheme == "rediss"]
      end

      def unreadable
        form = cluster? ? "HOST:PORT[,HOST:PORT]" : "HOST[:PORT][/DATABASE]"
        ConfigurationError.new("#{@url}: expected #{@url.scheme}://[USER:PASSWORD@]#{form}, with special " \
                               "characters in user and password percent-encoded")
      end
    end

    # The Sentinels of one master. Each new connection asks them for the server; they also name other Sentinels. Each
    # query gets half of the remaining time. A Sentinel that has failed moves to the end of the list. If none answers,
    # the last known server is tried.
    class Sentinels
      # @return [Array<Array(String, Integer, Boolean)>] host, port, and whether it uses TLS
      attr_reader :places

      # @param name [String] the master's name
      # @param places [Array<Array>] arguments of `connect`
      # @yieldparam host [String]
      # @yieldparam port [Integer]
      # @yieldparam tls [Boolean]
      # @yieldreturn [Connection]
      def initialize(name, places, &connect)
        @name = name
        @places = places
        @connect = connect
        @master = nil
      end

      # @param deadline [Float]
      # @return [Array(String, Integer)] host and port
      # @raise [IOError, SystemCallError]
      def find(deadline)
        failure = nil
        @places.each do |place|
          now = Clock.monotonic
          break if now >= deadline
          return @master = ask(place, now + ((deadline - now) / 2))
        rescue *Backends::Remote::Node::NETWORK_ERRORS, ReplyError => failure
          @places = [*(@places - [place]), place]
        end
        @master || raise(failure || IO::TimeoutError.new("no Sentinel answered within the time budget"))
      end

      private

      def ask(place, deadline)
        connection = @connect.call(*place)
        connection.open(deadline)
        master, others = %w[get-master-addr-by-name sentinels].map do |question|
          connection.call(["SENTINEL", question, @name], deadline)
        end
        raise master if master.is_a?(ReplyError)
        learn(others, place.last)
        return [master[0], Integer(master[1])] if master.is_a?(Array) && master.size == 2
        raise IOError, "the Sentinel #{place[0]}:#{place[1]} knows no master #{@name.inspect}"
      ensure
        connection&.close
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
