# frozen_string_literal: true

# Opens pages in a headless Chromium: the lab's reports, and Tiercel::Web.
module Browser
  PROGRAMS = %w[chromium chromium-browser google-chrome chrome].freeze
  OPTIONS = %w[no-sandbox disable-gpu disable-quic no-first-run disable-background-networking disable-component-update
               disable-sync disable-dev-shm-usage].to_h { |name| [name, nil] }.freeze
  SCHEMES = { "light" => "rgb(255, 255, 255)", "dark" => "rgb(20, 23, 27)" }.freeze

  # Whether an element reaches beyond the right edge, outside of scrolling elements.
  OVERFLOWING = <<~JS
    [...document.querySelectorAll("body *")].filter((element) =>
      element.getBoundingClientRect().right > document.documentElement.clientWidth + 1 &&
      !element.closest(".scroll, svg, details:not([open])")).map((element) => element.outerHTML.slice(0, 80))
  JS
  VISIBLE_CHARTS = <<~JS
    [...document.querySelectorAll("figure")].map((figure) =>
      [...figure.querySelectorAll("svg.chart")].filter((svg) => svg.getBoundingClientRect().height > 40).length)
  JS

  module_function

  # @return [String, nil] path of a Chromium
  def program
    ENV.fetch("PATH").split(File::PATH_SEPARATOR).product(PROGRAMS).map { |folder, name| File.join(folder, name) }
       .find { |path| File.executable?(path) }
  end

  # @param profile [String] a folder
  def start(profile)
    require "ferrum"
    Ferrum::Browser.new(browser_path: program, headless: true, process_timeout: 60, timeout: 60,
                        browser_options: OPTIONS.merge("user-data-dir" => profile),
                        env: { "TMPDIR" => File.dirname(profile) }) # what it leaves there goes with the profile
  end

  # @param place [String] a file's path, or a URL
  def open_page(browser, place, scheme, width)
    page = browser.create_page
    messages = watch(page)
    page.command("Emulation.setEmulatedMedia", features: [{ name: "prefers-color-scheme", value: scheme }])
    page.set_viewport(width:, height: 900)
    page.go_to(place.start_with?("http") ? place : "file://#{place}")
    page.define_singleton_method(:messages) { messages }
    page
  end

  # Messages of the console, of the page's scripts, and of its security policy.
  def watch(page)
    messages = []
    page.command("Log.enable")
    page.command("Runtime.enable")
    page.on("Runtime.consoleAPICalled") { |params| messages << params }
    page.on("Runtime.exceptionThrown") { |params| messages << params }
    page.on("Log.entryAdded") { |params| messages << params }
    messages
  end
end
