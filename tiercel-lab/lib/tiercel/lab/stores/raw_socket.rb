# frozen_string_literal: true

module Tiercel::Lab
  # The least work of a client in Ruby: it writes prepared requests, and reads exactly the bytes of their answers
  # without parsing.
  #
  # @abstract Subclasses implement one protocol.
  class RawSocket
    # A request, and the length of its answer.
    Exchange = Struct.new(:request, :answer_bytes)

    # @param address [String] HOST:PORT
    def initialize(address)
      host, port = address.split(":")
      @io = Socket.tcp(host, Integer(port)).tap { |io| io.setsockopt(:TCP, :NODELAY, 1) }
      @gets, @sets = {}, {}
      @many = {}.compare_by_identity
    end

    # Prepares the requests for names with their bytes.
    #
    # @param pairs [Hash{String => String}]
    def prepare(pairs)
      pairs.each do |name, bytes|
        @gets[name] = Exchange.new(get_request([name]), get_answer(name => bytes).bytesize)
        @sets[name] = Exchange.new(set_request(name => bytes), set_answer(1).bytesize)
      end
    end

    # Prepares a request for many names. The identity of an object selects the request.
    #
    # @param object [Object] the argument of {#get_multi} or {#set_multi}
    # @param pairs [Hash{String => String}]
    # @param kind [Symbol] :get or :set
    def prepare_many(object, pairs, kind)
      @many[object] = if kind == :get then Exchange.new(get_request(pairs.keys), get_answer(pairs).bytesize)
                      else Exchange.new(set_request(pairs), set_answer(pairs.size).bytesize)
                      end
    end

    def get(name) = exchange(@gets.fetch(name))
    def set(name, _bytes) = exchange(@sets.fetch(name))
    def get_multi(object) = exchange(@many.fetch(object))
    alias set_multi get_multi

    # Makes no request: the cost of a method call.
    def none(name) = name

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
        @io.write(get_request([name]))
        found = +""
        found << @io.readpartial(65_536) until ended?(found)
        raise Missed, "get found nothing" if found == absent
        raise WrongValue, "get answered other bytes" unless found == get_answer(name => bytes)
      end
    end

    def stored?(answer) = answer == set_answer(1)

    def close = @io.close

    private

    def exchange(exchange)
      @io.write(exchange.request)
      @io.read(exchange.answer_bytes)
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
      def absent = "END\r\n"
      def tail = "\r\nEND\r\n"
      def ended?(answer) = answer.end_with?("END\r\n")
    end

    # Redis' RESP2, with one MSET for many names.
    class Redis < RawSocket
      private

      def get_request(names) = names.one? ? words("GET", *names) : words("MGET", *names)

      def get_answer(pairs)
        bulks = pairs.values.map { |bytes| bulk(bytes) }
        bulks.one? ? bulks.first : "*#{bulks.size}\r\n#{bulks.join}".b
      end

      def set_request(pairs)
        return words("SET", *pairs.first) if pairs.one?
        words("MSET", *pairs.to_a.flatten)
      end

      def set_answer(_count) = "+OK\r\n"
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

    def close = @socket.close
  end

  module Contestants
    # A raw socket as a store: `raw_memcached`, `raw_redis`.
    class RawContestant < Contestant
      facts medium: :loopback, places: [""]

      def build(context)
        url = context.server(servers.first).fetch("url")
        socket = url.start_with?("redis") ? RawSocket::Redis : RawSocket::Memcached
        RawStore.new(socket.new(url[%r{//([^/]+)}, 1]))
      end

      def stored_bytes(_subject, _name, value) = value.bytesize

      # Keys stay, because the server ends with the run.
      def tear_down(subject, _names) = subject.close
    end

    define "raw_memcached", like: RawContestant, servers: %i[memcached]
    define "raw_redis", like: RawContestant, servers: %i[redis]
  end
end
