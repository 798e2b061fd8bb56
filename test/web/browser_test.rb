# frozen_string_literal: true
# suites: store

require_relative "web_case"
require_relative "../../tiercel-lab/test/support/browser"
require "puma"
require "puma/server"

# The page in a real browser: no console messages, no horizontal scrolling, in light and dark mode, on a phone and a
# desktop; its own forms work, and forms of other sites do not.
class WebBrowserTest < WebCase
  include Browser

  GROUNDS = { "light" => "rgb(245, 246, 248)", "dark" => "rgb(15, 18, 21)" }.freeze
  PATHS = %w[/ /?period=day /classes /keys?prefix_key=views /key?name_key=views/1 /tags?prefix_key=p /tiers
             /servers].freeze
  # For each chart: the drawing's height, its name, and the rows of its table.
  CHARTS = <<~JS
    [...document.querySelectorAll("figure")].map((figure) => [
      figure.querySelector("svg").getBoundingClientRect().height > 40,
      document.getElementById(figure.querySelector("svg").getAttribute("aria-labelledby")).textContent,
      figure.querySelectorAll(".twin tbody tr").length])
  JS

  def setup
    super
    skip "no chromium on the PATH: bin/setup installs it (Debian: apt-get install chromium)" unless Browser.program
    @store.define_singleton_method(:account) { FullAccount.new }
    50.times { |index| @store.fetch("views/#{index}", tags: "product:#{index}") { "x" * 100 } }
    @store.write(%(views/<script>hacked = 1</script>"><img src=x onerror="hacked = 1">), 1)
    @servers = []
  end

  def teardown
    @browser&.quit
    @servers&.each { |server| server.stop(true) }
    super
  end

  def test_light_and_dark_on_a_phone_and_on_a_desk
    place = serve(open_web(actions: true))
    GROUNDS.each do |scheme, ground|
      [400, 1_400].each do |width|
        page = show(place, scheme, width)
        (scheme == "light" ? PATHS : PATHS.values_at(0, 3, 6)).each do |path|
          page.network.clear(:traffic)
          page.go_to(place + path)
          inspect_page(page, path, ground, width, "#{path}, #{scheme}, #{width} px")
          fetched = page.network.traffic.map(&:url).reject { |url| url.start_with?("data:") }
          assert_equal [place + path], fetched
        end
        page.close
      end
    end
  end

  def test_forms_live_updates_and_keys
    place = serve(open_web(actions: true))
    forms(place)
    live(place)
    keyboard(place)
  end

  # The browser knows the password and adds it to the other site's requests.
  def test_another_site_changes_nothing_and_frames_nothing
    place = serve(web(user: "admin", password: SECRET, actions: true))
    port = place[/\d+\z/]
    evil = serve(lambda { |env|
      form = %(<form method="post" action="#{place}/clear"><input name="everything" value="yes"></form>)
      body = env["PATH_INFO"] == "/frame" ? %(<iframe src="#{place}/"></iframe>) : form
      [200, { "content-type" => "text/html" }, [body]]
    }).sub("127.0.0.1", "localhost")
    page = show("http://admin:#{SECRET}@127.0.0.1:#{port}/keys")
    assert_equal 200, page.network.status
    page.go_to(evil)
    page.evaluate("setTimeout(() => document.forms[0].submit(), 1)")
    wait_for_page("the refusal") { page.current_url.end_with?("/clear") && page.network.status }
    assert_equal 403, page.network.status
    assert_equal "x" * 100, @store.read("views/1")
    assert_match(/clear refused \(403\), everything/, @log.string)
    page.go_to("#{evil}/frame")
    wait_for_page("the policy speaks") { page.messages.join.include?("frame-ancestors") }
  end

  private

  def forms(place)
    page = show("#{place}/keys?prefix_key=views/4")
    page.at_xpath("//a[normalize-space()='views/42']").click
    wait_for_page("the entry") { page.current_url.include?("/key?entry_key=") }
    page.at_xpath("//button[.='Delete the entry']").click
    wait_for_page("the answer") { page.current_url.end_with?("/keys?notice=deleted") }
    wait_for_page("its text") { page.at_css(".notice")&.text == "The entry was deleted." }
    assert_nil @store.read("views/42")
    page.go_to("#{place}/tags?prefix_key=product:7")
    page.at_xpath("//button[@aria-label='Invalidate product:7']").click
    wait_for_page("the answer") { page.current_url.end_with?("/tags?notice=invalidated") }
    assert_nil @store.read("views/7")
    assert_empty page.messages
  end

  def live(place)
    page = show(place)
    page.evaluate("document.getElementById('live').dataset.seconds = 0.05")
    page.evaluate("document.getElementById('checks').open = true")
    moment = page.evaluate("document.getElementById('moment').textContent")
    page.at_css("#live").click
    assert_equal "true", page.at_css("#live").attribute("aria-pressed")
    wait_for_page("the page is read again") { page.evaluate("document.getElementById('moment').textContent") != moment }
    assert page.evaluate("document.getElementById('checks').open"), "what is open stays open"
    page.at_css("#live").click
    assert_equal "false", page.at_css("#live").attribute("aria-pressed")
    assert_empty page.messages
  end

  def keyboard(place)
    page = show(place)
    page.keyboard.type(:tab)
    assert_equal "Skip to the content", page.evaluate("document.activeElement.textContent")
    assert_operator page.evaluate("document.activeElement.getBoundingClientRect().top"), :>=, 0
    page.keyboard.type(:enter)
    wait_for_page("the content has the focus") { page.evaluate("document.activeElement.id") == "main" }
  end

  def inspect_page(page, path, ground, width, where)
    assert_empty page.messages, where
    assert_equal width, page.evaluate("document.documentElement.scrollWidth"), where
    assert_empty page.evaluate(OVERFLOWING), where
    assert_equal ground, page.evaluate("getComputedStyle(document.body).backgroundColor"), where
    assert_nil page.evaluate("window.hacked"), where
    charts(page, path, where)
  end

  # @return [String] the address of the app
  def serve(app)
    app.examination.report(app.given_stores, wait_seconds: 30) if app.is_a?(Tiercel::Web)
    server = Puma::Server.new(app, nil, { min_threads: 1, max_threads: 4, log_writer: Puma::LogWriter.null })
    port = server.add_tcp_listener("127.0.0.1", 0).addr[1]
    server.run
    @servers << server
    "http://127.0.0.1:#{port}"
  end

  def show(address, scheme = "light", width = 1_400)
    @browser ||= Browser.start(File.join(@profile ||= Dir.mktmpdir("tiercel-test-"), "profile"))
    open_page(@browser, address, scheme, width)
  end

  def charts(page, path, where)
    drawn = page.evaluate(CHARTS)
    return assert_empty drawn, where unless path == "/" || path.start_with?("/?")
    steps = path == "/" ? 60 : 96
    names = ["Reads", "Hit ratio", "Cost of misses", "Waits for another caller", "Writes", "Evictions"]
    assert_equal names.map { |name| [true, name, steps] }, drawn, where
  end

  # Retries if the page is left during the request.
  def wait_for_page(message)
    wait_until(message, within: 30) do
      yield
    rescue Ferrum::Error
      false
    end
  end
end
