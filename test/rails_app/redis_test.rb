# frozen_string_literal: true

require_relative "support"
require "json"
require "net/http"
require "socket"
require "tiercel/lab/servers"

# Redis in an application that runs on Puma: the request-local cache, and a server that stops.
class RailsAppRedisTest < RailsAppTest
  PROBE = <<~'RUBY'
    class ProbeController < ActionController::Base
      # Reads one value twice, changes another one, and reads several fragments together.
      def show
        Rails.cache.write("value", "text")
        own = Hash.new(0)
        trace = TracePoint.new(:call) do |call|
          own[call.method_id] += 1 if call.defined_class == ActiveSupport::Cache::Store
        end
        gets = -> { ProbeController.redis_gets }
        before = gets.call
        values = trace.enable { Array.new(3) { Rails.cache.read("value") } + [Rails.cache.read_multi("value", "none")] }
        render json: { values:, trips: gets.call - before, own: own.values_at(:read, :read_multi).compact.sum }
      end

      def self.redis_gets
        uri = URI(ENV.fetch("REDIS_URL"))
        info = TCPSocket.open(uri.host, uri.port) do |socket|
          socket.write("INFO commandstats\r\n")
          socket.read(socket.gets.delete_prefix("$").to_i)
        end
        info.scan(/cmdstat_m?get:calls=(\d+)/).flatten.sum(&:to_i)
      end
    end
  RUBY

  def serve(app, env)
    pid = app.spawn(RbConfig.ruby, "-S", "puma", "-C", "config/puma.rb", out: app.path("puma.log"), err: %i[child out],
                    env: { "BIND" => "tcp://127.0.0.1:0", "WEB_CONCURRENCY" => "0", **env })
    port = wait_until("puma", within: 60) { app.read("puma.log")[%r{Listening on http://127\.0\.0\.1:(\d+)}, 1] }
    yield ->(path) { Net::HTTP.get_response(URI("http://127.0.0.1:#{port}#{path}")) }
  ensure
    Process.kill(:KILL, pid) && Process.wait(pid) if pid
  end

  def test_requests_on_redis_which_stops_and_comes_back
    Tiercel::Lab::Servers::Redis.run do |redis|
      with_app do |app|
        app.cache_store = %(:tiercel_store, ENV.fetch("REDIS_URL"), { timeout: 20, breaker: { cool_down: 0.05 } })
        app.write("app/controllers/probe_controller.rb", PROBE)
        app.write("config/routes.rb", app.read("config/routes.rb").sub("root", %(get "probe" => "probe#show"\n  root)))
        serve(app, "REDIS_URL" => redis.url, "SEARCHES_A_MINUTE" => "3") do |get|
          probed = get.call("/probe")
          assert_equal "200", probed.code, app.log
          assert_equal({ "values" => ["text", "text", "text", { "value" => "text" }], "trips" => 1, "own" => 0 },
                       JSON.parse(probed.body))
          assert_equal %w[200 200 200 429], Array.new(4) { get.call("/search").code }
          redis.stop
          statuses = Array.new(8) { get.call("/search").code } + Array.new(4) { get.call("/").code }
          assert_equal ["200"], statuses.uniq, "a rate limit fails open, a page is rendered"
          redis.start
          wait_until("the breaker closed", within: 20) { get.call("/") && app.log.include?("answers again") }
          assert_equal 1, app.log.scan(/Tiercel: .*does not answer/).size, app.log
          assert_match(/answers again; [1-9]\d* calls were skipped in \d/, app.log)
          assert_equal 1, app.log.scan("answers again").size
        end
      end
    end
  end
end
