# frozen_string_literal: true

require "json"
require_relative "support"

# `mount Tiercel::Web => "/cache"` in a real application.
class RailsAppWebTest < RailsAppTest
  ROUTES = <<~RUBY
    Rails.application.routes.draw do
      root "products#index"
      resources :products, only: %i[index show]
      mount Tiercel::Web => "/cache"
      mount Tiercel::Web.new(user: "admin", password: ENV["CACHE_PASSWORD"], actions: true) => "/protected"
      mount Tiercel::Web.new(authenticate: ->(request) { request.params["as"] == "admin" }) => "/asked"
    end
  RUBY
  CALLS = <<~'RUBY'
    page = ActionDispatch::Integration::Session.new(Rails.application)
    page.host! ENV.fetch("HOST_HEADER", "localhost")
    Rails.cache.write("views/1", "x")
    Rails.cache.read("views/1")
    token = ActionController::HttpAuthentication::Basic.encode_credentials("admin", "secret")
    with = { "HTTP_AUTHORIZATION" => token }
    own, foreign = %w[same-origin cross-site].map { |site| { **with, "HTTP_SEC_FETCH_SITE" => site } }
    id = Tiercel::Web::Request.encode_key(Rails.cache.stored_key("views/1"))
    answers = {
      default: page.get("/cache"), keys: page.get("/cache/keys?prefix_key=views"), locked: page.get("/protected"),
      opened: page.get("/protected", headers: with), asked: page.get("/asked"), admin: page.get("/asked?as=admin"),
      foreign: page.post("/protected/delete", params: { entry_key: id }, headers: foreign),
      kept: Rails.cache.read("views/1"),
      own: page.post("/protected/delete", params: { entry_key: id }, headers: own), deleted: Rails.cache.read("views/1")
    }
    page.get("/protected", headers: with)
    answers[:link] = page.response.body[%r{href="(/protected/keys)"}, 1]
    answers[:policies] = page.response.headers.to_h.count { |name, _| name.casecmp?("content-security-policy") }
    answers[:cookies] = page.response.headers["set-cookie"]
    puts answers.to_json
  RUBY
  POLICY = <<~RUBY
    Rails.application.config.content_security_policy { |policy| policy.default_src :self }
    Rails.application.config.filter_parameters += [:_key] # as `rails new` configures it
  RUBY

  RailsApp::LINES.each do |line|
    define_method(:"test_the_page_on_rails_#{line.tr(".", "_")}") do
      with_app(line) do |app|
        app.cache_store = %(:tiercel_store, "shared:", { size: "8MB" })
        app.write("config/routes.rb", ROUTES)
        app.write("config/initializers/policy.rb", POLICY)
        shared = { locked: 401, opened: 200, asked: 403, admin: 200, foreign: 403, kept: "x", own: 303, deleted: nil,
                   link: "/protected/keys", policies: 1, cookies: nil }
        assert_equal({ default: 403, keys: 403, **shared }, answers(app, "production"))
        assert_match(/Tiercel::Web: delete refused \(403\)/, app.log)
        refute_includes app.log, "prefix_key=views"
        next unless line == RailsApp::LINES.first
        assert_equal({ default: 200, keys: 200, **shared }, answers(app, "development"))
        foreign = answers(app, "development", "HOST_HEADER" => "evil.example")
        assert_equal [403, 403], foreign.values_at(:default, :keys)
      end
    end
  end

  private

  def answers(app, environment, env = {})
    ran = app.runner(CALLS, env: { "RAILS_ENV" => environment, "CACHE_PASSWORD" => "secret", **env })
    JSON.parse(out(ran).lines.last, symbolize_names: true)
  end
end
