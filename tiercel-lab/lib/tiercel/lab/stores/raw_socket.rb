# frozen_string_literal: true

module Tiercel::Lab
  # The least work of a client in Ruby: it writes prepared requests, and reads exactly the bytes of their answers
  # without parsing. In a ring, names are distributed over the servers in turn.
  #
  # @abstract Subclasses implement one protocol.
  class RawSocket
    # A request to one server, and the length of its answer.
    Exchange = Struct.new(:io, :request, :answer_bytes)

    # @param addresses [Array<String>] HOST:PORT
    def initialize(addresses)
      @ios = addresses.map do |address|
        host, port = address.split(":")
        Socket.tcp(host, Integer(port)).tap { |io| io.setsockopt(:TCP, :NODELAY, 1) }
      end
      @gets, @sets, @places = {}, {}, {}
      @many = {}.compare_by_identity
    end

    # Prepares the requests for names with their bytes.
    #
    # @param pairs [Hash{String => String}]
    def prepare(pairs)
      place(pairs.keys)
      pairs.each do |name, bytes|
        io = @places.fetch(name)
        @gets[name] = Exchange.new(io, get_request([name]), get_answer(name => bytes).bytesize)
        @sets[name] = Exchange.new(io, set_request(name => bytes), set_answer(1).bytesize)
      end
    end

    # Prepares a request for many names. The identity of an object selects the request.
    #
    # @param object [Object] the argument of {#get_multi}, {#set_multi} or {#delete_multi}
    # @param pairs [Hash{String => String}]
    # @param kind [Symbol] :get, :set or :delete
    def prepare_many(object, pairs, kind)
      place(pairs.keys)
      @many[object] = pairs.group_by { |name, _bytes| @places.fetch(name) }.map do |io, share|
        Exchange.new(io, *public_send(:"#{kind}_exchange", share.to_h))
      end
    end

    # @param object [Object] whose requests are no longer needed
    def forget(object) = @many.delete(object)

    def get(name) = exchange(@gets.fetch(name))

    def set(name, _bytes) = exchange(@sets.fetch(name))

    # Writes to all servers before it reads from the first.
    def get_multi(object)
      exchanges = @many.fetch(object)
      exchanges.each { |exchange| exchange.io.write(exchange.request) }
      exchanges.map { |exchange| exchange.io.read(exchange.answer_bytes) }
    end
    alias set_multi get_multi
    alias delete_multi get_multi

    # Makes no request: the cost of a method call.
    def none(name) = name

    # @return [Array(String, Integer)] request, and length of its answer
    def get_exchange(pairs) = [get_request(pairs.keys), get_answer(pairs).bytesize]
    def set_exchange(pairs) = [set_request(pairs), set_answer(pairs.size).bytesize]
    def delete_exchange(pairs) = [delete_request(pairs.keys), delete_answer(pairs.size).bytesize]

    # @return [Range] position of the value in the answer to its get
    def value_range(name, bytes)
      first = get_answer(name => bytes).bytesize - tail.bytesize - bytes.bytesize
      first...(first + bytes.bytesize)
    end

    # Compares the answers for all names. Does not wait for bytes that do not come.
    #
    # @param pairs [Hash{String => String}]
    # @raise [Missed, WrongValue]
    def expect(pairs)
      pairs.each do |name, bytes|
        io = @places.fetch(name)
        io.write(get_request([name]))
        found = +""
        found << io.readpartial(65_536) until ended?(found)
        raise Missed, "get found nothing" if found == absent
        raise WrongValue, "get answered other bytes" unless found == get_answer(name => bytes)
      end
    end

    def stored?(answer) = answer == set_answer(1)

    def close = @ios.each(&:close)

    private

    def exchange(exchange)
      exchange.io.write(exchange.request)
      exchange.io.read(exchange.answer_bytes)
    end

    def place(names)
      names.each { |name| @places[name] ||= @ios[@places.size % @ios.size] }
    end

    # memcached's text protocol.
    class Memcached < RawSocket
      private

      def get_request(names) = "get #{names.join(" ")}\r\n".b

      def get_answer(pairs)
        pairs.map { |name, bytes| "VALUE #{name} 0 #{bytes.bytesize}\r\n".b << bytes << "\r\n" }.join << "END\r\n"
      end

      def set_request(pairs)
        pairs.map { |name, bytes| "set #{name} 0 0 #{bytes.bytesize}\r\n".b << bytes << "\r\n" }.join
      end

      def set_answer(count) = "STORED\r\n" * count
      def delete_request(names) = names.map { |name| "delete #{name}\r\n" }.join
      def delete_answer(count) = "DELETED\r\n" * count
      def absent = "END\r\n"
      def tail = "\r\nEND\r\n"
      def ended?(answer) = answer.end_with?("END\r\n")
    end

    # Redis' RESP2. Uses one MSET for many names. MSET has no TTL, so with a TTL it sends a SET for each name, in one
    # trip.
    class Redis < RawSocket
      # @param addresses [Array<String>] HOST:PORT
      # @param ttl [Integer, nil] seconds for written entries
      def initialize(addresses, ttl: nil)
        super(addresses)
        @ttl = ttl && ["PX", (ttl * 1000).to_s]
      end

      private

      def get_request(names) = names.one? ? words("GET", *names) : words("MGET", *names)

      def get_answer(pairs)
        bulks = pairs.values.map { |bytes| bulk(bytes) }
        bulks.one? ? bulks.first : "*#{bulks.size}\r\n#{bulks.join}".b
      end

      def set_request(pairs)
        return pairs.map { |pair| words("SET", *pair, *@ttl) }.join if @ttl || pairs.one?
        words("MSET", *pairs.to_a.flatten)
      end

      def set_answer(count) = "+OK\r\n" * (@ttl ? count : 1)
      def delete_request(names) = words("DEL", *names)
      def delete_answer(count) = ":#{count}\r\n"
      def words(*words) = "*#{words.size}\r\n".b << words.map { |word| bulk(word) }.join
      def bulk(text) = "$#{text.bytesize}\r\n".b << text.b << "\r\n"
      def absent = "$-1\r\n"
      def tail = "\r\n"

      # A bulk string, whose first line is its length.
      def ended?(answer)
        header = answer[/\A\$(-?\d+)\r\n/] or return false
        size = Integer(header[1..-3])
        size.negative? || answer.bytesize == header.bytesize + size + 2
      end
    end
  end

  # Measures wire and server without a client: a store of Strings over a {RawSocket}.
  class RawStore
    def initialize(socket)
      @socket = socket
      @ranges = {}
    end

    def write(name, value)
      raise CannotRun, "raw sockets carry Strings only" unless value.is_a?(String)
      bytes = value.b
      @encoding = value.encoding
      @socket.prepare(name => bytes)
      @ranges[name] = @socket.value_range(name, bytes)
      answer = @socket.set(name, bytes)
      @socket.stored?(answer) or raise WrongValue, "the server answered #{answer.inspect}"
    end

    def read(name)
      range = @ranges[name] or return nil
      @socket.get(name).byteslice(range).force_encoding(@encoding)
    end

    def delete_all(names)
      names &= @ranges.keys
      return if names.empty?
      @socket.prepare_many(names, names.to_h { |name| [name, ""] }, :delete)
      @socket.delete_multi(names)
    end

    def close = @socket.close
  end

  module Contestants
    # A raw socket as a store: `raw_memcached`, `raw_redis`.
    class RawContestant < Contestant
      facts medium: :loopback, places: [""]

      def build(context)
        url = context.server(servers.first).fetch("url")
        socket = url.start_with?("redis") ? RawSocket::Redis : RawSocket::Memcached
        RawStore.new(socket.new([url[%r{//([^/]+)}, 1]]))
      end

      def stored_bytes(_subject, _name, value) = value.bytesize

      def tear_down(subject, names)
        subject.delete_all(names)
        subject.close
      end
    end

    define "raw_memcached", like: RawContestant, servers: %i[memcached]
    define "raw_redis", like: RawContestant, servers: %i[redis]
  end
end
