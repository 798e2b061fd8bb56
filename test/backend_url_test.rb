# frozen_string_literal: true
# quick

require "test_helper"

class BackendURLTest < Tiercel::TestCase
  BackendURL = Tiercel::BackendURL

  def test_scheme_and_rest
    {
      "memory:" => ["memory", ""], "shared:app" => ["shared", "app"],
      "shared:/dev/shm/app" => ["shared", "/dev/shm/app"],
      "sqlite:storage/cache.sqlite3" => ["sqlite", "storage/cache.sqlite3"], "file:/tmp/a b" => ["file", "/tmp/a b"],
      "memcached://a:1,b:2" => ["memcached", "//a:1,b:2"], "redis://cache:6379/0" => ["redis", "//cache:6379/0"],
      "redis+cluster://a:1,b:2" => ["redis+cluster", "//a:1,b:2"], "file:a:b" => ["file", "a:b"],
    }.each do |text, (scheme, rest)|
      url = BackendURL.parse(text)
      assert_equal [scheme, rest, {}], [url.scheme, url.rest, url.options], text
    end
  end

  def test_a_url_is_itself
    url = BackendURL.parse("memory:")
    assert_same url, BackendURL.parse(url)
  end

  def test_options_in_the_query
    url = BackendURL.parse("shared:app?size=256MB&mode=a%20b")
    assert_equal({ size: "256MB", mode: "a b" }, url.options)
    assert_equal "app", url.rest
    assert_equal({}, BackendURL.parse("shared:app?").options)
  end

  def test_place
    assert_equal "cache:6379/0", BackendURL.parse("redis://cache:6379/0").place
    assert_equal "/tmp/cache.sock", BackendURL.parse("memcached:/tmp/cache.sock").place
  end

  def test_in_text_without_password_and_query
    { "redis://user:secret@cache:6379/0?db=1" => "redis://cache:6379/0", "redis://:secret@cache" => "redis://cache",
      "rediss://secret@cache" => "rediss://cache", "redis:user:secret@cache:1" => "redis:cache:1",
      "redis:/user:secret@cache" => "redis:cache", "sqlite:storage/a@b" => "sqlite:storage/a@b",
      "memory:" => "memory:", "file:/a@b" => "file:/a@b",
      "redis://user:se/cr@et@cache" => "redis://cache", "file:///a@b" => "file:///a@b",
      "redis+cluster://user:secret@one,user:secret@two" => "redis+cluster://two" }.each do |text, shown|
      assert_equal shown, BackendURL.parse(text).to_s
    end
  end

  def test_errors_show_no_password
    ["//user:hunter2@cache", "REDIS://user:hunter2@cache", "//cache?password=hunter2",
     "redis://cache?password=hunter2é"].each do |text|
      error = assert_raises(Tiercel::ConfigurationError, text) { BackendURL.parse(text) }
      refute_includes error.message, "hunter2"
      assert_includes error.message, "//cache"
    end
  end

  def test_what_has_no_scheme
    ["", "localhost", "//cache", "/tmp/cache", ":memory", "MEMORY:", "1:2", nil, 7].each do |text|
      error = assert_raises(Tiercel::ConfigurationError, text.inspect) { BackendURL.parse(text) }
      assert_includes error.message, "expected SCHEME:"
      assert_includes error.message, text.nil? ? "nil" : text.to_s.inspect
    end
  end
end
