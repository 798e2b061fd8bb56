# frozen_string_literal: true
# suites: store

require_relative "web_case"
require "rexml/document"
require "support/rails_stub"

# The pages: headers, hostile content, and backends that are missing or fail.
class WebPagesTest < WebCase
  include RailsStub

  PAGES = %w[/ /?period=day /classes /keys /keys?prefix_key=views /tags /tags?prefix_key=p /tiers /servers].freeze
  HOSTILE = [%(<script>alert(1)</script>), %("><img src=x onerror=alert(1)>), %('" onmouseover="alert(1)), "</title>",
             "\e[2J\e]0;owned\a", "caf\xE9\xFF".b, "\u202Egnp.exe", "a\0b", "{{7*7}}", "%><%= 1 %>",
             "javascript:alert(1)", "a\r\nset-cookie: x=1"].freeze

  def test_headers_of_every_answer
    app = open_web(actions: true)
    answers = [*PAGES, "/nowhere", "/metrics", "/key?entry_key=", "/key"].map { |path| get(app, path) }
    answers << post(app, "/clear", {}) << post(open_web, "/clear") << post(app, "/delete", { entry_key: id("a") })
    answers << get(web, "/") << get(web(user: "a", password: "b"), "/")
    answers.each do |answer|
      assert_includes answer["content-security-policy"], "default-src 'none'"
      assert_includes answer["content-security-policy"], "frame-ancestors 'none'"
      assert_equal %w[DENY nosniff no-store same-origin],
                   answer.headers.values_at("x-frame-options", "x-content-type-options", "cache-control",
                                            "referrer-policy")
      assert_equal answer.body.bytesize, answer["content-length"].to_i
    end
  end

  def test_a_nonce_is_of_one_answer_and_no_inline_code_goes_without_it
    app = open_web(actions: true)
    nonces = PAGES.map do |path|
      answer = get(app, path)
      nonce = answer["content-security-policy"][/script-src 'nonce-([\w-]{24})'/, 1]
      assert_equal 2, answer.body.scan(/<(?:script|style) nonce="#{nonce}">/).size, path
      assert_empty answer.body.scan(/<(?:script|style)>|\sstyle=|\son\w+=|javascript:/), path
      refute_match(/unsafe/, answer["content-security-policy"])
      nonce
    end
    assert_equal nonces.uniq, nonces
  end

  def test_pages_are_well_formed
    @store.define_singleton_method(:account) { FullAccount.new }
    @store.write("views/1", "x", tags: "product:1")
    [*PAGES, "/key?name_key=views/1"].each do |path|
      body = get(open_web(actions: true), path).body
      main = body[%r{<header>.*</footer>}m].gsub(/<(input[^>]*)>/, '<\1/>')
      main.gsub!(%r{ (required|hidden)(?=[ >/])}, ' \1=""')
      assert REXML::Document.new("<page>#{main}</page>"), path
    end
  end

  def test_invalidated_tags
    @store.write("views/1", "x", tags: "product:1")
    refute_includes get(open_web, "/key?name_key=views/1").body, "Invalidated"
    @store.invalidate_tags("product:1")
    assert_match(%r{Invalidated.*<dd><bdi class="tag">product:1</bdi>}, get(open_web, "/key?name_key=views/1").body)
  end

  def test_hostile_keys_and_tags_do_not_become_markup
    HOSTILE.each do |text|
      @store.write("k:#{text.b}".b, "value", tags: "t:#{text.dup.force_encoding("UTF-8").scrub}")
    end
    app = open_web(actions: true)
    ids = @store.backend.scan("k:").map { |key| "/key?entry_key=#{id(key)}" }
    assert_operator ids.size, :>=, HOSTILE.size - 1
    ["/keys?prefix_key=k", "/tags?prefix_key=t", *ids].each { |path| assert_harmless get(app, path), path }
  end

  def test_hostile_classes
    @store.define_singleton_method(:account) { FullAccount.new }
    %w[/ /classes].each { |path| assert_harmless get(open_web, path), path }
  end

  def test_hostile_parameters
    app = open_web(actions: true)
    HOSTILE.each do |text|
      encoded = URI.encode_www_form_component(text)
      ["/keys?prefix_key=#{encoded}", "/tags?prefix_key=#{encoded}", "/key?name_key=#{encoded}", "/?period=#{encoded}",
       "/classes?period=#{encoded}", "/keys?notice=#{encoded}", "/key?entry_key=#{id(text)}"].each do |path|
        assert_harmless get(app, path), path
      end
      assert_harmless get(app, "/", "SCRIPT_NAME" => "/#{text}"), "mounted at #{text.inspect}"
      assert_harmless get(app, "/", "HTTP_HOST" => text), "host #{text.inspect}"
    end
  end

  def test_a_location_stays_on_this_host
    app = open_web(actions: true)
    { "//evil.example" => "/evil.example", "/cache" => "/cache", "/a\r\nset-cookie: x=1" => "/aset-cookie:x=1",
      "///" => "", "evil.example" => "/evil.example" }.each do |mount, base|
      headers = { "HTTP_SEC_FETCH_SITE" => "same-origin", "SCRIPT_NAME" => mount }
      answer = post(app, "/delete", { entry_key: id("a") }, headers)
      assert_equal "#{base}/keys?notice=missing", answer["location"]
    end
  end

  def test_paths_that_lead_elsewhere
    ["/../../etc/passwd", "/templates/frame.erb", "/%2e%2e/keys", "/assets/page.css", "//", "/keys/", "/KEYS", "/\0",
     "/metrics/../keys"].each { |path| assert_equal 404, get_raw(open_web, path), path }
  end

  def test_head
    answer = Rack::MockRequest.new(open_web).head("/")
    assert_equal [200, ""], [answer.status, answer.body]
    assert_operator answer["content-length"].to_i, :>, 1_000
  end

  def test_large_and_malformed_queries
    assert_equal 413, get(open_web, "/keys?prefix_key=#{"a" * 9_000}").status
    { "/keys" => %w[prefix_key=% prefix_key=%zz a[b]=1&a[]=2],
      "/key" => %w[entry_key= entry_key=%% entry_key[]=YQ entry_key=**] }.each do |path, queries|
      queries.each do |query|
        env = Rack::MockRequest.env_for(path).merge("QUERY_STRING" => query)
        assert_equal 400, open_web.call(env).first, "#{path}?#{query}"
      end
    end
  end

  def test_keys_of_ten_megabytes
    cache = Tiercel.new("memory:", size: "64MB", max_key_size: false)
    cache.backend.set("k#{"x" * 60_000}", "1")
    body = get(Tiercel::Web.new(store: cache, protected_by: :routes), "/keys?prefix_key=k").body
    assert_operator body.bytesize, :<, 40_000
    assert body.include?("kxxx")
  ensure
    cache&.close
  end

  # The values and tags are the secrets of this test. A name of up to 250 bytes is a key, which the page shows.
  def test_values_are_not_shown_and_not_loaded
    @store.write("secret", SECRET)
    @store.write("object", Struct.new(:name).new("anonymous").then { |one| [one.name, SECRET, Object] })
    loads = 0
    trace = TracePoint.new(:c_call) { |call| loads += 1 if call.method_id == :load && call.self == Marshal }
    trace.enable do
      %w[/keys?prefix_key=secret /key?name_key=secret /key?name_key=object].each do |path|
        refute_secret get(open_web, path), path
      end
    end
    assert_equal 0, loads
  end

  def test_no_key_is_shown_unless_its_beginning_is_named
    forms = ["reset/%s", "user:%s@example.org:inbox", "%s", "orders/%s/items", "session?token=%s", "posts/%s-a-slug"]
    10_000.times { |index| @store.fetch(format(forms[index % forms.size], "#{SECRET}#{index}")) { SECRET } }
    (PAGES + ["/metrics"]).each { |path| refute_secret get(open_web(actions: true), path), path }
    refute_includes @log.string.lines.grep_v(/Cache/).join, SECRET
  end

  def test_rack_finds_nothing_to_say
    app = Rack::Lint.new(open_web(actions: true))
    (PAGES + ["/nowhere", "/key"]).each { |path| assert_operator get(app, path).status, :<, 500 }
    assert_equal 200, Rack::MockRequest.new(app).head("/").status
    form = { params: { entry_key: id("a") }, "HTTP_SEC_FETCH_SITE" => "same-origin" }
    assert_equal 303, Rack::MockRequest.new(app).post("/delete", **form).status
  end

  def test_a_server_that_does_not_answer_beside_a_tier_that_does
    with_tmpdir do |dir|
      cache = Tiercel.new("shared:#{dir}/near?size=4MB", "redis://127.0.0.1:1/0", timeout: 0.05,
                                                                                  error_handler: ->(**) {})
      app = Tiercel::Web.new(store: cache, protected_by: :routes)
      body = get(app, "/servers").body
      assert body.include?("Largest value")
      assert body.include?("<dd>no: ")
      PAGES.each { |path| assert_equal 200, get(app, path).status, path }
    ensure
      cache&.close
    end
  end

  def test_a_store_that_does_not_answer
    cache = Tiercel.new("redis://:#{SECRET}@127.0.0.1:1/0", timeout: 0.05, error_handler: ->(**) {})
    app = Tiercel::Web.new(store: cache, protected_by: :routes)
    [*PAGES, "/key?name_key=a"].each do |path|
      answer = get(app, path)
      assert_equal 200, answer.status, path
      refute_secret answer, path
    end
  ensure
    cache&.close
  end

  def test_a_store_of_rails
    app = Tiercel::Web.new(store: ActiveSupport::Cache::MemoryStore.new, protected_by: :routes)
    [*PAGES, "/key?entry_key=#{id("a")}"].each { |path| assert_equal 200, get(app, path).status, path }
    assert get(app, "/").body.include?("MemoryStore")
  end

  def test_no_store
    error = assert_raises(Tiercel::ConfigurationError) { get(Tiercel::Web.new(protected_by: :routes), "/") }
    assert_match(/Tiercel::Web\.new\(store: cache\)/, error.message)
  end

  def test_an_application_that_the_doctor_cannot_examine
    in_rails("a secret", ActiveSupport::EnvironmentInquirer.new("test")) do
      cache = @store
      Rails.define_singleton_method(:cache) { cache }
      body = get(Tiercel::Web.new(protected_by: :routes), "/").body
      assert body.include?("cannot be examined (NoMethodError)")
    end
  end

  def test_it_is_loaded_only_when_it_is_named
    script = %(require "tiercel"; p Tiercel.autoload?(:Web), $LOADED_FEATURES.grep(/tiercel\\/web|rack/).size)
    lib = File.expand_path("../../lib", __dir__)
    assert_equal %("tiercel/web"\n0\n), IO.popen([RbConfig.ruby, "-I#{lib}", "-e", script], &:read)
  end

  private

  def refute_secret(answer, message) = refute(answer.body.include?(SECRET), message)

  # A path or a query that no client library sends.
  def get_raw(app, path) = app.call(Rack::MockRequest.env_for("/").merge("PATH_INFO" => path)).first

  def assert_harmless(answer, message)
    body = answer.body
    assert_predicate body, :valid_encoding?, message
    assert_empty body.scan(/<script>|<img|onmouseover="alert|\e|\u202E|\0/), message
    assert_equal 1, body[/<head>.*<body>/m].scan("</title>").size, message if answer.status == 200
    answer.headers.each { |name, value| refute_match(/[\r\n\0]/, value, "#{message}: #{name}") }
    refute answer.headers.key?("set-cookie"), message
  end
end
