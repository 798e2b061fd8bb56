# frozen_string_literal: true

require "socket"
require_relative "../contestant"

module Tiercel
  module Lab
    module Contestants
      # What the wire and the server cost without any client: one request made
      # beforehand is sent, exactly the answer's bytes are read. String values.
      class RawSocket < Contestant
        def medium = :loopback

        def build(context)
          facts = context.server(servers.first)
          host, port = facts.fetch("url")[%r{//([^/]+)}, 1].split(":")
          subject.new(Socket.tcp(host, Integer(port)).tap { |io| io.setsockopt(:TCP, :NODELAY, 1) })
        end

        def stored_bytes(_subject, _name, value) = value.bytesize

        def tear_down(subject, names)
          subject.delete_all(names)
          subject.close
        end

        # @abstract Subclasses know the bytes of one protocol.
        class Client
          # @param io [Socket]
          def initialize(io)
            @io = io
            @requests = {}
            @answers = {}
          end

          # @param name [String]
          # @param value [String]
          # @return [true]
          def write(name, value)
            raise CannotRun, "raw sockets carry Strings only" unless value.is_a?(String)
            @encoding = value.encoding
            @requests[name] = get_request(name)
            @answers[name] = answer_shape(name, value.bytesize)
            @io.write(set_request(name, value.b))
            expect(stored)
          end

          # @param name [String]
          # @return [String]
          def read(name)
            request = @requests[name] or return nil
            @io.write(request)
            before, size, total = @answers[name]
            @io.read(total).byteslice(before, size).force_encoding(@encoding)
          end

          # @param names [Array<String>]
          def delete_all(names)
            (names & @requests.keys).each do |name|
              @io.write(delete_request(name))
              @io.gets
            end
          end

          def close = @io.close

          private

          def expect(line)
            answer = @io.gets
            answer == line or raise WrongValue, "the server answered #{answer.inspect}"
          end
        end

        # memcached's text protocol.
        class MemcachedClient < Client
          private

          def stored = "STORED\r\n"
          def get_request(name) = "get #{name}\r\n".b
          def set_request(name, bytes) = "set #{name} 0 0 #{bytes.bytesize}\r\n".b << bytes << "\r\n"
          def delete_request(name) = "delete #{name}\r\n"

          def answer_shape(name, size)
            before = "VALUE #{name} 0 #{size}\r\n".bytesize
            [before, size, before + size + "\r\nEND\r\n".bytesize]
          end
        end

        # Redis' RESP2.
        class RedisClient < Client
          private

          def stored = "+OK\r\n"
          def get_request(name) = "*2\r\n$3\r\nGET\r\n#{bulk(name)}".b

          def set_request(name, bytes)
            "*3\r\n$3\r\nSET\r\n#{bulk(name)}".b << "$#{bytes.bytesize}\r\n" << bytes << "\r\n"
          end

          def delete_request(name) = "*2\r\n$3\r\nDEL\r\n#{bulk(name)}"
          def bulk(text) = "$#{text.bytesize}\r\n#{text}\r\n"

          def answer_shape(_name, size)
            before = "$#{size}\r\n".bytesize
            [before, size, before + size + 2]
          end
        end
      end

      # Straight to the lab's memcached.
      class RawMemcached < RawSocket
        def servers = %i[memcached]
        def subject = RawSocket::MemcachedClient
      end

      # Straight to the lab's Redis.
      class RawRedis < RawSocket
        def servers = %i[redis]
        def subject = RawSocket::RedisClient
      end

      register "raw_memcached", RawMemcached
      register "raw_redis", RawRedis
    end
  end
end
