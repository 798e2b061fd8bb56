# frozen_string_literal: true
# suites: store*

require_relative "web_case"

# Only forms of this page change the cache, and only if actions are enabled.
class WebActionsTest < WebCase
  FORM = { "CONTENT_TYPE" => "application/x-www-form-urlencoded" }.freeze

  def setup
    super
    @store.write("views/1", "a", tags: "product:1")
    @store.write("views/2", "b")
    @store.write("users/1", "c")
  end

  def test_delete
    answer = post(open_web(actions: true), "/delete", { entry_key: id("views/1") })
    assert_equal [303, "/keys?notice=deleted"], [answer.status, answer["location"]]
    assert_nil @store.read("views/1")
    answer = post(open_web(actions: true), "/delete", { entry_key: id("views/1") })
    assert_equal "/keys?notice=missing", answer["location"]
  end

  def test_delete_of_any_bytes
    key = "caf\xE9\0<b>".b
    @store.write(key, 1)
    stored = @store.backend.scan.find { |one| one.b.start_with?("caf".b) }
    assert_equal "/keys?notice=deleted", post(open_web(actions: true), "/delete", { entry_key: id(stored) })["location"]
    refute(@store.backend.scan.any? { |one| one.b.start_with?("caf".b) })
  end

  def test_delete_in_a_namespace
    cache = Tiercel.new("memory:", size: "4MB", namespace: "shop")
    cache.write("a", 1)
    app = Tiercel::Web.new(store: cache, protected_by: :routes, actions: true)
    post(app, "/delete", { entry_key: id("shop:a") })
    assert_nil cache.read("a")
  ensure
    cache&.close
  end

  def test_keys_of_other_programs_stay
    cache = Tiercel.new("memory:", size: "4MB", namespace: "shop")
    cache.backend.set("queue:default", "jobs")
    app = Tiercel::Web.new(store: cache, protected_by: :routes, actions: true)
    %w[queue:default shopping:1 shop].each do |key|
      cache.backend.set(key, "theirs")
      assert_equal 400, post(app, "/delete", { entry_key: id(key) }).status, key
      assert_equal 400, get(app, "/key?entry_key=#{id(key)}").status, key
    end
    assert_equal 3, cache.backend.scan.count
  ensure
    cache&.close
  end

  def test_invalidate
    assert_equal "/tags?notice=invalidated",
                 post(open_web(actions: true), "/invalidate", { tag: "product:1" })["location"]
    assert_nil @store.read("views/1")
    assert_equal "b", @store.read("views/2")
    assert_equal 400, post(open_web(actions: true), "/invalidate", { tag: "" }).status
    assert_equal 400, post(open_web(actions: true), "/invalidate", { tag: "x" * 10_000 }).status
  end

  def test_clear
    @store.write("views*", 1)
    assert_equal 303, post(open_web(actions: true), "/clear", { prefix_key: "views/" }).status
    assert_equal [nil, nil, "c", 1], %w[views/1 views/2 users/1 views*].map { |name| @store.read(name) }
    post(open_web(actions: true), "/clear", { prefix_key: "views*" })
    assert_equal [nil, "c"], [@store.read("views*"), @store.read("users/1")]
    assert_equal 400, post(open_web(actions: true), "/clear", { prefix_key: "" }).status
    assert_equal 400, post(open_web(actions: true), "/clear", { prefix_key: "users\xFF" }).status
    assert_equal "c", @store.read("users/1")
    post(open_web(actions: true), "/clear", { prefix_key: "", everything: "yes" })
    assert_empty @store.backend.scan.to_a
  end

  def test_actions_are_off
    assert_refused(open_web, "actions are off")
    refute get(open_web, "/keys").body.include?(%(<form method="post"))
  end

  # A browser adds credentials to requests of any page (CVE-2020-16253).
  def test_other_sites_are_refused_with_valid_credentials
    app = web(user: "admin", password: SECRET, actions: true)
    [{ "HTTP_SEC_FETCH_SITE" => "cross-site" }, { "HTTP_SEC_FETCH_SITE" => "same-site" },
     { "HTTP_SEC_FETCH_SITE" => "none" }, { "HTTP_SEC_FETCH_SITE" => "" },
     { "HTTP_SEC_FETCH_SITE" => "cross-site", "HTTP_ORIGIN" => "http://example.org" },
     {}, { "HTTP_ORIGIN" => "null" }, { "HTTP_ORIGIN" => "" }, { "HTTP_ORIGIN" => "https://evil.example" },
     { "HTTP_ORIGIN" => "http://example.org:81" }, { "HTTP_ORIGIN" => "http://example.org.evil.example" },
     { "HTTP_ORIGIN" => "http://evil.example\\@example.org" }, { "HTTP_ORIGIN" => "file://" },
     { "HTTP_ORIGIN" => "javascript://example.org" }, { "HTTP_ORIGIN" => "mailto:example.org" },
     { "HTTP_REFERER" => "http://example.org/cache" }].each do |headers|
      assert_refused(app, headers.inspect, basic("admin", SECRET).merge(headers))
    end
  end

  def test_an_origin_that_is_this_host_without_the_newer_header
    { "http://example.org" => {}, "https://example.org" => {}, "http://example.org:80" => {},
      "http://example.org:3000" => { "HTTP_HOST" => "example.org:3000" },
      "http://EXAMPLE.org" => {}, "http://[::1]:3000" => { "HTTP_HOST" => "[::1]:3000" },
      "https://shop.example" => { "HTTP_HOST" => "10.0.0.1:80", "HTTP_X_FORWARDED_HOST" => "shop.example" } }
      .each do |origin, headers|
        answer = post(open_web(actions: true), "/delete", { entry_key: id("nothing") },
                      { "HTTP_HOST" => "example.org", "HTTP_ORIGIN" => origin, **headers })
        assert_equal 303, answer.status, origin
      end
  end

  def test_other_methods_change_nothing
    app = open_web(actions: true)
    %w[GET HEAD].each do |verb|
      assert_equal 404, Rack::MockRequest.new(app).request(verb, "/delete?entry_key=#{id("views/1")}").status
    end
    %w[PUT PATCH DELETE OPTIONS TRACE].each do |verb|
      answer = Rack::MockRequest.new(app).request(verb, "/delete?entry_key=#{id("views/1")}",
                                                  "HTTP_SEC_FETCH_SITE" => "same-origin")
      assert_equal [405, "GET, HEAD, POST"], [answer.status, answer["allow"]], verb
    end
    assert_equal "a", @store.read("views/1")
  end

  def test_a_body_that_is_no_form
    app = open_web(actions: true)
    %w[text/plain application/json multipart/form-data].each do |type|
      answer = post(app, "/delete", nil, { "HTTP_SEC_FETCH_SITE" => "same-origin", "CONTENT_TYPE" => type,
                                           :input => "entry_key=#{id("views/1")}" })
      assert_equal 415, answer.status, type
    end
    malformed = ["entry_key[a]=1&entry_key=2", "entry_key=%", "entry_key=%zz", "entry_key", "",
                 "entry_key[]=#{id("views/1")}", "a[b]=1&a[b][c]=2", "entry_key=***"]
    malformed.each do |body|
      answer = post(app, "/delete", nil, { "HTTP_SEC_FETCH_SITE" => "same-origin", **FORM, :input => body })
      assert_equal 400, answer.status, body
    end
    assert_equal "a", @store.read("views/1")
  end

  def test_a_query_is_no_form
    assert_equal 400, post(open_web(actions: true), "/delete?entry_key=#{id("views/1")}").status
    assert_equal "a", @store.read("views/1")
  end

  def test_a_large_body
    assert_equal 413, post(open_web(actions: true), "/delete", { id: "a" * 70_000 }).status
  end

  def test_the_log_tells_of_actions_without_their_keys
    app = open_web(actions: true)
    post(app, "/delete", { entry_key: id("token/#{SECRET}") }, { "HTTP_SEC_FETCH_SITE" => "same-origin",
                                                          "REMOTE_ADDR" => "10.1.2.3" })
    post(app, "/delete", { entry_key: id("views/1") }, { "HTTP_SEC_FETCH_SITE" => "cross-site" })
    lines = @log.string.lines.grep(/Tiercel::Web/)
    assert_match(/delete allowed, SHA-256 \h{16}, client 10\.1\.2\.3$/, lines.first)
    assert_match(/delete refused \(403\), SHA-256 \h{16}/, lines.last)
    refute_includes lines.join, SECRET
    refute_includes lines.join, id("token/#{SECRET}")
  end

  def test_a_store_of_rails
    cache = ActiveSupport::Cache::MemoryStore.new
    cache.write("views/1", 1)
    app = Tiercel::Web.new(store: cache, protected_by: :routes, actions: true)
    post(app, "/delete", { entry_key: id("views/1") })
    assert_nil cache.read("views/1")
    assert_equal "/tags?notice=untagged", post(app, "/invalidate", { tag: "a" })["location"]
    cache.write("views/1", 1)
    post(app, "/clear", { prefix_key: "views/" })
    assert_nil cache.read("views/1")
  end

  private

  def assert_refused(app, message, headers = { "HTTP_SEC_FETCH_SITE" => "same-origin" })
    { "/delete" => { entry_key: id("views/1") }, "/invalidate" => { tag: "product:1" },
      "/clear" => { everything: "yes" } }
      .each do |path, form|
        assert_equal 403, post(app, path, form, headers).status, "#{path}: #{message}"
      end
    assert_equal "a", @store.read("views/1"), message
  end
end
