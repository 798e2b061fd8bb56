# frozen_string_literal: true
# suites: store*

require_relative "web_case"
require "support/rails_stub"

# The page refuses every visitor, unless an option opens it or the application runs in development or test.
class WebAccessTest < WebCase
  include RailsStub

  PATHS = %w[/ /classes /keys /key /tags /tiers /servers /metrics /nowhere].freeze

  def test_closed_outside_rails
    PATHS.each { |path| assert_equal 403, get(web, path).status, path }
    assert_equal 403, post(web(actions: true), "/clear", { everything: "yes" }).status
    assert_match(/authenticate:/, get(web, "/").body)
  end

  def test_closed_in_production_and_open_in_development
    in_rails("production") { assert_equal 403, get(web, "/").status }
    in_rails("development") { assert_equal 200, get(web, "/", "HTTP_HOST" => "localhost:3000").status }
    in_rails("test") { assert_equal 200, get(web, "/", "HTTP_HOST" => "www.example.com").status }
  end

  def test_a_name_that_another_site_points_here_is_refused_in_development
    in_rails("development") do
      %w[localhost localhost:3000 shop.localhost 127.0.0.1:3000 [::1]:3000 192.168.0.7].each do |host|
        assert_equal 200, get(web, "/", "HTTP_HOST" => host).status, host
      end
      ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:3000", "", "localhost@evil",
       "[::1].evil.example"].each { |host| assert_equal 403, get(web, "/", "HTTP_HOST" => host).status, host }
      forwarded = { "HTTP_HOST" => "localhost", "HTTP_X_FORWARDED_HOST" => "evil.example" }
      assert_equal 403, get(web, "/", forwarded).status
    end
  end

  def test_one_default_page_for_the_class
    in_rails("production") { assert_equal 403, Tiercel::Web.call(Rack::MockRequest.env_for("/")).first }
  end

  def test_authenticate
    seen = nil
    app = web(authenticate: ->(request) { (seen = request).get_header("HTTP_X_USER") == "admin" })
    assert_equal 403, get(app, "/").status
    assert_equal 200, get(app, "/", "HTTP_X_USER" => "admin").status
    assert_kind_of Rack::Request, seen
    in_rails("development") { assert_equal 403, get(app, "/", "HTTP_HOST" => "localhost").status }
  end

  def test_an_authenticate_that_raises_shows_nothing
    assert_raises(RuntimeError) { get(web(authenticate: ->(_) { raise "no session" }), "/") }
  end

  def test_user_and_password
    app = web(user: "admin", password: SECRET)
    assert_equal 200, get(app, "/", basic("admin", SECRET)).status
    [["admin", ""], ["admin", "#{SECRET}x"], ["", SECRET], ["admin", SECRET.upcase], [SECRET, "admin"]].each do |pair|
      refused = get(app, "/", basic(*pair))
      assert_equal 401, refused.status, pair.inspect
      assert_match(/\ABasic realm=/, refused["www-authenticate"])
    end
    ["Bearer #{SECRET}", "Basic", "Basic \xFF!", "Basic #{["admin"].pack("m0")}", "\0"].each do |header|
      assert_equal 401, get(app, "/", "HTTP_AUTHORIZATION" => header).status, header.inspect
    end
    refute_includes get(app, "/", basic("admin", SECRET)).body, SECRET
  end

  def test_variables_that_are_not_set_leave_it_closed
    [{ user: nil, password: nil }, { user: "admin", password: nil }, { user: "admin", password: "" },
     { user: "", password: "" }, { user: nil, password: SECRET }].each do |options|
      app = web(**options)
      assert_equal 403, get(app, "/", basic(options[:user].to_s, options[:password].to_s)).status, options.inspect
    end
  end

  def test_the_metrics_token_opens_metrics_alone
    app = web(metrics_token: SECRET)
    refute_equal 403, get(app, "/metrics", "HTTP_AUTHORIZATION" => "Bearer #{SECRET}").status
    assert_equal 403, get(app, "/", "HTTP_AUTHORIZATION" => "Bearer #{SECRET}").status
    ["Bearer #{SECRET}x", "Bearer ", "Bearer", SECRET, "Basic #{[SECRET].pack("m0")}", "Bearer #{SECRET[0..-2]}"]
      .each { |header| assert_equal 403, get(app, "/metrics", "HTTP_AUTHORIZATION" => header).status, header }
    assert_equal 403, get(app, "/metrics").status
    ["", nil].each do |unset|
      assert_equal 403, get(web(metrics_token: unset), "/metrics", "HTTP_AUTHORIZATION" => "Bearer ").status
    end
  end

  def test_secrets_are_compared_in_constant_time
    compared = []
    # Active Support's method may call OpenSSL's method of the same name.
    watch = TracePoint.new(:call) do |call|
      compared << call.method_id if call.method_id == :fixed_length_secure_compare &&
                                    call.self == ActiveSupport::SecurityUtils
    end
    app = web(user: "admin", password: SECRET)
    watch.enable { get(app, "/", basic("nobody", "x")) }
    assert_equal 2, compared.size, "the password is compared also where the user is wrong"
  end

  def test_options_that_cannot_work
    [{ authenticate: true }, { protected_by: true }, { protected_by: "routes" }, { user: 1, password: 2 },
     { metrics_token: :token }, { actions: "yes" }, { actions: nil }, { authenticate: ->(_) {}, protected_by: :routes },
     { user: "a", password: "b", protected_by: :routes }].each do |options|
      error = assert_raises(Tiercel::ConfigurationError, options.inspect) { web(**options) }
      assert_match(/\A\w+(, \w+)*: expected/, error.message)
    end
  end

  private

  def in_rails(environment, &) = super("a secret", ActiveSupport::EnvironmentInquirer.new(environment), &)
end
