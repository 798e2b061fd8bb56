# frozen_string_literal: true

require "rack"
require "rack/builder"
require "socket"
require "stringio"

module Tiercel
  module Lab
    module Http
      # As much of an HTTP/1.1 server as measuring needs where puma is not there: GET and HEAD without bodies, a thread
      # for each connection, which is kept.
      class SmallServer
        VERSION = "small"

        # @param app [#call] a Rack application
        # @param host [String]
        # @param port [Integer]
        def initialize(app, host:, port:)
          @app = app
          @host = host
          @port = port
        end

        # Serves until the process is ended.
        #
        # @return [void]
        def run
          listener = TCPServer.new(@host, @port)
          loop do
            connection = listener.accept
            connection.setsockopt(:TCP, :NODELAY, 1)
            Thread.new { serve(connection) }
          end
        end

        private

        def serve(connection)
          while (line = connection.gets)
            headers = read_headers(connection)
            connection.write(answer(environment(line, headers)))
            break if headers["HTTP_CONNECTION"].to_s.casecmp?("close")
          end
        rescue Errno::ECONNRESET, Errno::EPIPE
          nil # the client has gone
        ensure
          connection.close
        end

        def read_headers(connection)
          headers = {}
          while (line = connection.gets) && line != "\r\n"
            name, value = line.chomp.split(/:\s*/, 2)
            headers["HTTP_#{name.upcase.tr("-", "_")}"] = value
          end
          headers
        end

        def environment(line, headers)
          verb, target, = line.split
          path, query = target.split("?", 2)
          { "REQUEST_METHOD" => verb, "SCRIPT_NAME" => "", "PATH_INFO" => path, "QUERY_STRING" => query.to_s,
            "SERVER_NAME" => @host, "SERVER_PORT" => @port.to_s, "SERVER_PROTOCOL" => "HTTP/1.1",
            "rack.url_scheme" => "http", "rack.input" => StringIO.new("".b),
            "rack.errors" => $stderr, "rack.hijack?" => false }.merge(headers)
        end

        def answer(environment)
          status, headers, body = @app.call(environment)
          text = +"".b
          body.each { |part| text << part.b }
          body.close if body.respond_to?(:close)
          response(status, headers, text, head: environment["REQUEST_METHOD"] == "HEAD")
        rescue StandardError => e
          warn "#{e.class}: #{e.message} (#{e.backtrace&.first})"
          response(500, { "content-type" => "text/plain" }, "#{e.class}: #{e.message}".b, head: false)
        end

        def response(status, headers, text, head:)
          lines = headers.flat_map { |name, values| Array(values).map { |value| "#{name}: #{value}\r\n" } }
          lines.reject! { |line| line.match?(/\Acontent-length:/i) }
          "HTTP/1.1 #{status} #{Rack::Utils::HTTP_STATUS_CODES.fetch(status.to_i, "Unknown")}\r\n#{lines.join}" \
            "content-length: #{text.bytesize}\r\n\r\n".b << (head ? "" : text)
        end
      end
    end
  end
end
