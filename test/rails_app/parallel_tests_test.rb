# frozen_string_literal: true

require_relative "support"
require "tiercel/lab/servers"

# `bin/rails test` with tests that write, count and clear concurrently.
class RailsAppParallelTestsTest < RailsAppTest
  CACHE_TEST = <<~'RUBY'
    require "test_helper"

    class CacheTest < ActiveSupport::TestCase
      parallelize(workers: 4, with: ENV.fetch("WITH").to_sym, threshold: 2)
      STORE = Shop::Application.config.cache_store
      LATER = Module.new { def self.cache = @cache ||= ActiveSupport::Cache.lookup_store(*STORE) }

      setup { Rails.cache.clear }

      32.times do |number|
        test "what it counts and clears is its own #{number}" do
          10.times { |round| visit(number, round) }
        end
      end

      def visit(number, round)
        Rails.cache.clear
        counts = Array.new(3) { sleep(0.001) && Rails.cache.increment("count") }
        Rails.cache.write("name", [number, round])
        LATER.cache.write("name", [number, round], namespace: "later")
        sleep 0.001
        assert_equal [1, 2, 3], counts
        assert_equal [number, round], Rails.cache.fetch("name") { :lost }
        assert_equal [number, round], LATER.cache.read("name", namespace: "later")
        assert_equal({ "name" => [number, round] }, Rails.cache.read_multi("name", "none"))
        Rails.cache.delete_matched(/nam/)
        assert_nil Rails.cache.read("name")
      end
    end
  RUBY

  PARALLEL = /Running 32 tests in parallel using 4 processes/

  def rails_test(app, store, with: "processes", **env)
    app.cache_store = store
    app.rails("test", env: { "RAILS_ENV" => "test", "WITH" => with, **env.transform_keys(&:to_s) })
  end

  def assert_apart(app, store, **env)
    ran = out(rails_test(app, store, **env))
    assert_match(PARALLEL, ran)
    assert_match(/32 runs, \d{4} assertions, 0 failures, 0 errors, 0 skips/, ran, store)
  end

  def with_cache_test(line = "8.1")
    with_app(line) do |app|
      app.write("test/cache_test.rb", CACHE_TEST)
      yield app
    end
  end

  RailsApp::LINES.each do |line|
    define_method("test_workers_on_rails_#{line.tr(".", "_")}") do
      with_cache_test(line) do |app|
        Tiercel::Lab::Servers::Redis.run do |redis|
          assert_apart(app, %(:tiercel_store, "#{redis.url}"))
          assert_equal "0", redis.command("DBSIZE").to_s[/\d+/], "the workers leave nothing behind"
        end
      end
    end
  end

  def test_processes_of_parallel_tests
    with_app do |app|
      Tiercel::Lab::Servers::Redis.run do |redis|
        app.cache_store = %(:tiercel_store, "#{redis.url}")
        numbers = ["", "2", nil]
        counts = numbers.map do |number|
          env = { "RAILS_ENV" => "test", "TEST_ENV_NUMBER" => number }
          out(app.runner("puts Rails.cache.increment('n'), Rails.cache.backend.scan.to_a", env:)).split
        end
        assert_equal [%w[1 test-worker-1:n], %w[1 test-worker-1:n test-worker-2:n],
                      %w[1 n test-worker-1:n test-worker-2:n]], counts.map { |count, *keys| [count, *keys.sort] }
      end
    end
  end
end
