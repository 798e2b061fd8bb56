# frozen_string_literal: true

require_relative "../support/lab_case"
require "tiercel/lab"

# Requests for pages, made in this process.
class LoadPagesTest < LabCase
  # A server in this process: another body after 20 requests, and an error for /broken.
  #
  # @yieldparam pages [Lab::Load::Pages]
  # @yieldparam url [String]
  def with_pages
    server = TCPServer.new("127.0.0.1", 0)
    count = 0
    thread = Thread.new do
      loop do
        Thread.new(server.accept) do |io|
          while (line = io.gets)
            nil until io.gets.to_s.strip.empty?
            body = line.include?("/broken") ? "no such page" : (count += 1) > 20 ? "late" : "page"
            status = line.include?("/broken") ? "500 Internal Server Error" : "200 OK"
            io.write("HTTP/1.1 #{status}\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}")
          end
        end
      end
    end
    yield Lab::Load::Pages.new, "http://127.0.0.1:#{server.addr[1]}"
  ensure
    thread&.kill
    server&.close
  end

  def test_every_body_is_compared
    with_pages do |pages, url|
      first = pages.ask(url:, path: "/there", requests: 1)
      assert_equal ["measured", 4, 1], [*first.values_at("status", "bytes"), first["ns"].size]
      sha256 = first["sha256"]
      assert_match(/another body \(4 B\) than at first/, pages.ask(url:, path: "/", requests: 20, sha256:)["reason"])
    end
  end

  def test_errors_are_no_figures
    with_pages do |pages, url|
      outcome = pages.ask(url:, path: "/broken", requests: 1)
      assert_equal "wrong values", outcome["status"]
      assert_match(/broken answered 500/, outcome["reason"])
      refused = pages.ask(url: "http://127.0.0.1:1", path: "/", requests: 1)
      assert_equal "cannot run", refused["status"]
      refute_match(/Errno/, refused["reason"])
    end
  end

  def test_connections_share_the_requests
    with_pages do |pages, url|
      answer = pages.ask(url:, path: "/here", requests: 6, connections: 3)
      assert_equal [6, 4], [answer["ns"].size, answer["bytes"]]
    end
  end
end
