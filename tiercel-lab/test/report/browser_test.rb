# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require_relative "sample"
require_relative "../support/browser"

# Opens a report in a real browser: the console stays empty, nothing is fetched, and every chart is visible in light and
# dark, on a phone and on a desktop.
class ReportBrowserTest < Tiercel::TestCase
  include Browser

  def setup
    skip "no chromium on the PATH: bin/setup installs it (Debian: apt-get install chromium)" unless Browser.program
  end

  def with_page(scheme: "light", width: 1400, file: nil)
    with_tmpdir do |directory|
      file = File.join(directory, "report.html")
      File.write(file, Tiercel::Lab::Report::Html.render(SampleReport.document))
      browser = Browser.start(File.join(directory, "profile"))
      yield open_page(browser, file, scheme, width), browser, file
    ensure
      browser&.quit
    end
  end

  def test_light_and_dark_on_a_phone_and_on_a_desk
    with_page do |_page, browser, file|
      SCHEMES.each do |scheme, ground|
        [400, 1_400].each do |width|
          page = open_page(browser, file, scheme, width)
          where = "#{scheme}, #{width} px"
          assert_empty page.messages, where
          assert_equal width, page.evaluate("document.documentElement.scrollWidth"), where
          assert_empty page.evaluate(OVERFLOWING), where
          assert_equal [1] * 2, page.evaluate(VISIBLE_CHARTS), "#{where}: one drawing of each chart is to be seen"
          assert_equal ground, page.evaluate("getComputedStyle(document.body).backgroundColor"), where
          fetched = page.network.traffic.map(&:url).reject { |url| url.start_with?("data:") }
          assert_equal ["file://#{file}"], fetched, where
          page.close
        end
      end
    end
  end

  def test_copying_tooltips_and_details
    with_page do |page|
      button = page.at_css("#reads-of-1-kb button.copy")
      page.evaluate("window.copied = [], navigator.clipboard.writeText = async (text) => { copied.push(text) }, true")
      button.scroll_into_view
      button.click
      wait_until("the button says so") { button.text == "copied" }
      assert_equal [Tiercel::Lab::Report::Markdown.render(SampleReport.reads_table)], page.evaluate("copied")
      hover(page, "[data-tip]")
      assert_equal "margin: 1.000 [0.976\u20131.025]", page.evaluate("document.querySelector('.tip').textContent")
      refute page.evaluate("document.querySelector('.tip').hidden")
      page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true })")
      assert_equal 1_400, page.evaluate("document.documentElement.scrollWidth"), "all details open"
      assert_empty page.messages
    end
  end

  def hover(page, selector)
    page.evaluate(<<~JS)
      document.querySelector(#{selector.inspect}).dispatchEvent(
        new MouseEvent("mousemove", { bubbles: true, clientX: 50, clientY: 50 }))
    JS
  end

  def test_the_page_refuses_what_comes_from_outside
    with_page do |page|
      page.evaluate("document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/x.png' }))")
      wait_until("the policy speaks") { page.messages.join.include?("Content Security Policy") }
      assert_equal 0, page.evaluate("document.images[0].naturalWidth")
    end
  end
end
