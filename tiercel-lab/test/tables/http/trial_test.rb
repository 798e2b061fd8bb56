# frozen_string_literal: true

require_relative "../../support/lab_case"
require "net/http"

class HttpTrialTest < LabCase
  APP = <<~RUBY
    config = ENV.fetch("TIERCEL_LAB_CACHE")
    asked = 0
    run(lambda do |env|
      asked += 1
      raise "no such page" if env["PATH_INFO"] == "/broken"
      sleep 0.03 if config == "slow"
      body = { "differs" => "other", "forgets" => asked > 50 ? "late" : "page" }.fetch(config, "page")
      [200, { "content-type" => "text/plain", "x-folder" => config }, [body, "?", env["QUERY_STRING"]]]
    end)
  RUBY

  class Progress
    attr_reader :said
    def advance(_seconds, what) = (@said ||= []) << what
  end

  def with_app
    Dir.mktmpdir do |folder|
      path = File.join(folder, "app.ru")
      File.write(path, APP)
      yield path
    end
  end

  ONCE = TINY.with(processes: 1)

  def rows_of(app, *configs, protocol: ONCE, **options)
    trial = Lab::Tables::Http::Trial.new(configs, app:, protocol:, requests: 5, **options)
    trial.run(Progress.new)
    trial.rows
  end

  def test_requests_in_turn_by_fresh_processes
    with_app do |app|
      a, b, again = rows_of(app, "fast", "slow", path: "/page?x=1", protocol: TINY)
      assert_equal [%w[A fast], %w[B slow], ["A again", "fast"]],
                   [a, b, again].map { |row| row.values_at("side", "label") }
      [a, b, again].each do |row|
        assert_equal ["measured", "200", 8], row.values_at("status", "http_status", "bytes"), row["reason"]
        assert_equal [[0, 0], [0, 1], [1, 0], [1, 1]], row["blocks"].map { |block| block.first(2) }
        assert_equal [10], row["blocks"].map { |block| block.size - 2 }.uniq
        assert_equal 2, row["first_ns"].size
      end
      fast, slow = [a, b].map { |row| row["blocks"].flat_map { |block| block.drop(2) }.min }
      assert_operator slow, :>=, 30_000_000
      assert_operator slow, :>, fast
    end
  end

  def test_other_bodies_are_caught
    with_app do |app|
      _a, b, again = rows_of(app, "same", "differs")
      assert_equal "wrong values", b["status"]
      assert_match(/its body \(6 B\) is another than A's \(5 B\).*--any-body/, b["reason"])
      assert_empty again["blocks"]
    end
  end

  def test_an_application_that_does_not_start_says_why
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "app.ru"), "raise \"no database\"\n")
      a, = rows_of(File.join(folder, "app.ru"), "x", "y")
      assert_equal "cannot run", a["status"]
      assert_match(/no database/, a["reason"])
    end
  end

  def test_a_server_that_is_there_is_asked_by_its_url
    with_app do |app|
      Lab::Load::AppServer.run(app:, config: "fast", path: "/there") do |server|
        trial = Lab::Tables::Http::Trial.new([server.url, "#{server.url}/too"], protocol: ONCE, requests: 3)
        trial.run(Progress.new)
        assert_equal %w[measured] * 3, trial.rows.map { |row| row["status"] }, trial.rows.first["reason"]
        refute_nil Net::HTTP.new("127.0.0.1", server.port).head("/there")["content-length"]
      end
    end
  end
end
