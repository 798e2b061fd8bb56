# frozen_string_literal: true

# suites: insight

require "test_helper"
require "action_dispatch"
require "action_view"
require "rack"
require "active_support/cache/tiercel_store"
require "support/rails_stub"
require "tiercel/insight"

# The page: closed unless opened, read-only, and without private parts of keys.
class WebTest < Tiercel::TestCase
  include RailsStub

  def teardown = Tiercel::Insight.stop

  def web(**) = Tiercel::Insight::Web.new(store: @store, **)

  def with_load(store = ActiveSupport::Cache::MemoryStore.new)
    with_tmpdir do |folder|
      @store = store
      Tiercel::Insight.start(@store, folder:)
      Tiercel::Insight.audit(1.0)
      30.times { |index| @store.fetch("user:#{index}@example.com:<b>inbox</b>") { "secret-value" } }
      30.times { |index| @store.fetch("user:#{index}@example.com:<b>inbox</b>") { index } }
      yield
    end
  end

  def get(app, path = "/", **headers)
    status, fields, body = app.call(Rack::MockRequest.env_for(path, "HTTP_HOST" => "localhost", **headers))
    [status, fields, body.join]
  end

  def test_closed_unless_opened
    with_load do
      assert_equal [403, 403], [get(web), get(web, "/metrics")].map(&:first)
      assert_equal [403, 403], [nil, ""].map { |password| get(web(user: "a", password:)).first }
      assert_equal 401, get(web(user: "a", password: "b")).first
      assert_equal 200, get(web(user: "a", password: "b"), "HTTP_AUTHORIZATION" => "Basic #{["a:b"].pack("m0")}").first
      %w[a:x x:b].each do |pair|
        assert_equal 401, get(web(user: "a", password: "b"), "HTTP_AUTHORIZATION" => "Basic #{[pair].pack("m0")}").first
      end
      assert_equal 403, get(web(authenticate: ->(_) { false })).first
      assert_equal 200, get(web(authenticate: ->(_) { true })).first
      assert_equal 403, get(web(metrics_token: "t"), "HTTP_AUTHORIZATION" => "Bearer t").first
      assert_equal 200, get(web(metrics_token: "t"), "/metrics", "HTTP_AUTHORIZATION" => "Bearer t").first
      assert_equal 403, get(web(metrics_token: "t"), "/metrics").first
      assert_raises(Tiercel::Insight::ConfigurationError) { web(user: "a", protected_by: :routes) }
      assert_raises(Tiercel::Insight::ConfigurationError) { web(protected_by: "x") }
      assert_raises(Tiercel::Insight::ConfigurationError) { web(authenticate: 1) }
    end
  end

  # The name of another site may lead to this machine. Its pages could then read this page.
  def test_in_development_it_is_open_under_names_of_this_machine
    environments = %w[development production].map { |name| ActiveSupport::EnvironmentInquirer.new(name) }
    codes = { "localhost:3000" => 200, "a.localhost" => 200, "127.0.0.1" => 200, "[::1]:3000" => 200,
              "shop.test" => 200, "evil.test" => 403, "localhost.evil.test" => 403, "127.0.0.1.evil.test" => 403 }
    with_load do
      in_rails("secret", environments.first, hosts: ["shop.test"]) do
        assert_equal codes, codes.to_h { |host, _| [host, get(web, "HTTP_HOST" => host).first] }
        assert_equal 403, get(web, "HTTP_HOST" => "evil.test", "HTTP_X_FORWARDED_HOST" => "localhost").first
      end
      in_rails("secret", environments.first) { assert_equal 403, get(web, "HTTP_HOST" => "evil.test").first }
      in_rails("secret", environments.last) { assert_equal 403, get(web).first }
    end
  end

  def test_the_page_and_what_it_hides
    with_load do
      status, headers, body = get(web(protected_by: :routes))
      assert_equal 200, status
      policy = headers["content-security-policy"]
      assert_match(/default-src 'none'; script-src 'nonce-[^']+'; style-src 'nonce-.*frame-ancestors 'none'\z/, policy)
      assert_equal "no-store", headers["cache-control"]
      nonce = policy[/nonce-([^']+)'/, 1]
      assert_includes body, %(<style nonce="#{nonce}">)
      refute_match(/style=|onclick=|@example|secret-value|<b>inbox/, body)
      assert_includes body, "user:*"
      assert_includes body, "stale"
      assert_includes body, "Hit ratio"
      assert_equal 200, get(web(protected_by: :routes), "/?period=day").first
    end
  end

  def test_it_only_shows
    with_load do
      app = web(protected_by: :routes)
      assert_equal 405, app.call(Rack::MockRequest.env_for("/", method: "POST", "HTTP_HOST" => "localhost")).first
      assert_equal 404, get(app, "/keys").first
      assert_equal 200, get(app, "/?#{"a" * 9_000}").first
      assert_empty app.call(Rack::MockRequest.env_for("/", method: "HEAD", "HTTP_HOST" => "localhost")).last
    end
  end

  def test_a_curve_with_its_band
    with_load(Tiercel.new("memory:", size: "4MB")) do
      reads = Array.new(20_000) do |at|
        Tiercel::Insight::Figures::Read.new(at, (at * at % 4_001) * 1_000_000, at < 2_000 ? nil : 900, "a/*")
      end
      worth = Tiercel::Insight::Worth.new(reads, 1.0, { warm: 0, reads: 20_000, misses: 2_000, requests: 100 },
                                          capacity: Tiercel::Insight::Capacity.new(1_500, 4 << 20, :lru),
                                          costs: { "a/*" => 0.001 })
      request = Tiercel::Insight::Web::Request.new(Rack::MockRequest.env_for("/"))
      page = Tiercel::Insight::Web::Page.new(@store, request, "n", report: nil, worth:)
      assert_match(/<polygon class="band" points="48\.0,/, page.to_s)
      assert_match(/2\.0 MB in place of 4\.0 MB: [\d.e+]+ ms more per request \[/, page.to_s)
    end
  end

  def test_prometheus
    with_load(ActiveSupport::Cache::MemoryStore.new(namespace: 'q"\\')) do
      text = get(web(protected_by: :routes), "/metrics").last
      assert_includes text, %(tiercel_cache_reads_total{result="hit"} 30)
      assert_includes text, %(tiercel_cache_reads_total{result="miss"} 30)
      assert_match(/^tiercel_cache_computation_seconds_total \d/, text)
      assert_includes text, '{class="q\\"\\\\:user:*'
      text.each_line do |line|
        assert_match(/\A(# (HELP|TYPE) tiercel_\w+ .*|tiercel_\w+(\{[^{}]*\})? [\d.e-]+)\n\z/, line)
      end
    end
  end
end
