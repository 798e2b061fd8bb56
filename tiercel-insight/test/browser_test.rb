# frozen_string_literal: true

# suites: insight

require "test_helper"
require "active_support/cache/tiercel_store"
require "puma"
require "puma/server"
require "tiercel/insight"
require_relative "../../tiercel-lab/test/support/browser"

# The page in a browser: dark and light, on a phone and on a desktop.
class BrowserTest < Tiercel::TestCase
  def setup
    skip "no Chromium in PATH" unless Browser.program
  end

  def teardown = Tiercel::Insight.stop

  # A store with load, stale values, long names, and a curve of sizes.
  def with_page
    with_tmpdir do |folder|
      store = ActiveSupport::Cache::MemoryStore.new(size: 1 << 20)
      Tiercel::Insight.start(store, folder: "#{folder}/insight", share: 1.0)
      Tiercel::Insight.audit(1.0)
      8.times do |part| # more reads at once would be dropped
        500.times { |at| store.fetch("#{"very_long_name/" * 9}#{((part * 500) + at)**2 % 997}") { "x" * 2_000 } }
        Tiercel::Insight.collector.flush
      end
      Tiercel::Insight.audit(nil)
      Tiercel::Insight.audit(1.0)
      2.times { |index| store.fetch("user:alice@example.com") { "<script>alert(#{index})</script>" } }
      web = Tiercel::Insight::Web.new(store:, protected_by: :routes)
      # Another opener policy than that of about:blank makes Chromium replace the window that the test drives.
      plain = ->(env) { web.call(env).tap { |answer| answer[1].delete("cross-origin-opener-policy") } }
      serve(plain) { |address| yield address, "#{folder}/profile" }
    end
  end

  def serve(app)
    server = Puma::Server.new(app, nil, { log_writer: Puma::LogWriter.null, min_threads: 1, max_threads: 2 })
    port = server.add_tcp_listener("127.0.0.1", 0).addr[1]
    server.run
    yield "http://127.0.0.1:#{port}/"
  ensure
    server&.stop(true)
  end

  def test_dark_and_light_on_a_phone_and_a_desktop
    with_page do |address, profile|
      browser = Browser.start(profile)
      Browser::SCHEMES.keys.product([1_280, 390]) do |scheme, width|
        page = Browser.open_page(browser, address, scheme, width)
        assert_readable(page, "#{scheme}, #{width} px")
        page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
        assert_readable(page, "#{scheme}, #{width} px, all open")
        page.at_css("#live").click
        assert_equal "true", page.at_css("#live").attribute("aria-pressed")
        page.at_css("#live").click
        assert_empty page.messages, "#{scheme}, #{width} px"
        page.close
      end
    ensure
      browser&.quit
    end
  end

  def assert_readable(page, form)
    assert_empty page.evaluate(Browser::OVERFLOWING), form
    assert_operator page.evaluate("document.documentElement.scrollWidth"), :<=,
                    page.evaluate("document.documentElement.clientWidth"), form
    assert_equal 3, page.evaluate("[...document.querySelectorAll('figure svg')]" \
                                  ".filter((one) => one.getBoundingClientRect().height > 40).length"), form
    text = page.evaluate("document.body.innerText")
    assert_match(/Hit ratio.*stale/m, text, form)
    refute_match(/alice|alert/, text)
  end
end
