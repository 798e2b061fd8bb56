# frozen_string_literal: true

require_relative "../support/lab_case"
require "tiercel/lab/load/app_server"
require "tiercel/lab/load/pages"

# Requests for pages, made in this process.
class LoadPagesTest < LabCase
  # Answers another body after 50 requests, or fails.
  APP = <<~RUBY
    requests = 0
    run(lambda do |env|
      requests += 1
      raise "no such page" if env["PATH_INFO"] == "/broken"
      [200, { "content-type" => "text/plain" }, [requests > 50 ? "late" : "page"]]
    end)
  RUBY

  # @yieldparam pages [Lab::Load::Pages]
  # @yieldparam url [String]
  def with_pages
    Dir.mktmpdir do |folder|
      app = File.join(folder, "app.ru")
      File.write(app, APP)
      Lab::Load::AppServer.run(app:, config: "", path: "/there") do |server|
        pages = Lab::Load::Pages.new
        yield pages, server.url
      ensure
        pages&.close
      end
    end
  end

  def test_every_body_is_compared
    with_pages do |pages, url|
      first = pages.open(id: "A", url:)
      assert_equal ["measured", "200", 4, 1], [*first.values_at("status", "http_status", "bytes"), first["ns"].size]
      sha256 = first["sha256"]
      assert_match(/another body \(4 B\) than at first/, pages.ask(id: "A", url:, requests: 20, sha256:)["reason"])
      assert_equal 20, pages.ask(id: "A", url:, requests: 20)["ns"].size
      assert_nil pages.close
    end
  end

  def test_errors_are_no_figures
    with_pages do |pages, url|
      outcome = pages.open(id: "A", url: url.sub("there", "broken"))
      assert_equal "wrong values", outcome["status"]
      assert_match(/broken answered 500/, outcome["reason"])
      refused = pages.open(id: "B", url: "http://127.0.0.1:1/")
      assert_equal "cannot run", refused["status"]
      refute_match(/Errno/, refused["reason"])
    end
  end

  def test_connections_share_the_requests_and_failures_are_counted
    with_pages do |pages, url|
      answer = pages.ask(url: url.sub("/there", ""), path: "/here", requests: 6, connections: 3)
      assert_equal [6, 0, 4], [answer["ns"].size, *answer.values_at("failed", "bytes")]
      answer = pages.ask(url: url.sub("/there", ""), path: "/broken", requests: 4, failures: true)
      assert_equal [0, 4], [answer["ns"].size, answer["failed"]]
    end
  end
end
