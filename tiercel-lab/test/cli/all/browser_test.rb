# frozen_string_literal: true

require "test_helper"
require_relative "../../support/browser"
require_relative "../../support/canned_all"

# The report of `lab all` in a real browser.
class JoinedReportBrowserTest < Tiercel::TestCase
  include Browser

  def document = Tiercel::Lab::CLI::All::View.new(CannedAll.results, command: "bin/lab all --quick").build

  def test_light_and_dark_on_a_phone_and_on_a_desk
    skip "no chromium on the PATH: bin/setup installs it (Debian: apt-get install chromium)" unless Browser.program
    with_tmpdir do |directory|
      file = File.join(directory, "report.html")
      File.write(file, Tiercel::Lab::Report::Html.render(document))
      browser = Browser.start(File.join(directory, "profile"))
      SCHEMES.keys.product([400, 1_400]) { |scheme, width| check(browser, file, scheme, width) }
    ensure
      browser&.quit
    end
  end

  def check(browser, file, scheme, width)
    page = open_page(browser, file, scheme, width)
    where = "#{scheme}, #{width} px"
    assert_empty page.messages, where
    assert_equal width, page.evaluate("document.documentElement.scrollWidth"), where
    assert_empty page.evaluate(OVERFLOWING), where
    charts = page.evaluate(VISIBLE_CHARTS)
    assert_equal [1] * 3, charts, where
    assert_equal SCHEMES[scheme], page.evaluate("getComputedStyle(document.body).backgroundColor"), where
    shots = ENV.fetch("TIERCEL_LAB_SCREENSHOTS", nil)
    page.screenshot(path: File.join(shots, "all-#{scheme}-#{width}.png"), full: true) if shots
    page.close
  end

  CLIPPED = <<~SCRIPT.freeze
    [...document.querySelectorAll(".scroll")].filter(box => box.scrollWidth > box.clientWidth + 1)
      .map(box => box.getAttribute("aria-label"))
  SCRIPT

  def test_what_is_folded_is_most_of_it_and_nothing_is_clipped
    skip "no chromium on the PATH: bin/setup installs it (Debian: apt-get install chromium)" unless Browser.program
    with_tmpdir do |directory|
      file = File.join(directory, "report.html")
      File.write(file, Tiercel::Lab::Report::Html.render(document))
      browser = Browser.start(File.join(directory, "profile"))
      page = open_page(browser, file, "light", 1_400)
      folded, open = [false, true].map do |state|
        page.execute("document.querySelectorAll('details').forEach(part => part.open = #{state})")
        page.evaluate("document.documentElement.scrollHeight")
      end
      assert_operator folded, :<, open / 2
      assert_empty page.evaluate(CLIPPED)
    ensure
      browser&.quit
    end
  end

  def test_every_table_has_its_anchor_once
    page = Tiercel::Lab::Report::Html.render(document)
    ids = page.scan(/ id="([^"]+)"/).flatten
    assert_equal ids.uniq, ids
    %w[compare selfcheck sqlite serializers how-long-it-took].each do |id|
      assert_includes page, %(<a href="##{id}">)
    end
    assert_match(/There is no table: exit code 2; no such gem/, page)
    assert_match(/Not complete: stopped after 90 s/, page)
    assert_match(/data-copy/, page)
  end
end
