# frozen_string_literal: true

require "socket"
require "etc"
require_relative "../errors"
require_relative "../version"
require_relative "figures"
require_relative "format"
require_relative "template"

module Tiercel
  class Web
    # The base class of every page: the layout and the templates' helpers.
    #
    # @private
    class Page
      ASSETS = ::File.expand_path("assets", __dir__)
      STYLE, SCRIPT, ICON = %w[page.css page.js icon.svg].map do |name|
        ::File.read(::File.join(ASSETS, name), encoding: Encoding::UTF_8).freeze
      end
      # Texts after a form was sent; the address contains only their names.
      NOTICES = {
        "deleted" => "The entry was deleted.", "missing" => "The entry did not exist, or the backend did not answer.",
        "invalidated" => "The entries with this tag are invalidated.", "cleared" => "The entries were deleted.",
        "failed" => "The backend did not answer, so the change may be missing.", "untagged" => "This store has no tags."
      }.freeze
      TABS = [["Overview", "/"], ["Classes", "/classes"], ["Keys", "/keys"], ["Tags", "/tags"], ["Tiers", "/tiers"],
              ["Servers", "/servers"]].freeze
      PERIODS = { "hour" => "Last hour", "day" => "Last day" }.freeze
      Template.define(self, :render_frame, "frame")
      Template.define(self, :class_table, "class_table", "classes")

      class << self
        # @param title [String]
        # @param template [String] the name of its file
        # @return [void]
        def page(title, template)
          define_method(:title) { title }
          Template.define(self, :render_content, template)
        end
      end

      # @param web [Web]
      # @param request [Request]
      # @param nonce [String]
      def initialize(web, request, nonce)
        @web = web
        @store = web.store
        @request = request
        @nonce = nonce
      end

      # @return [String]
      def render
        @content = render_content
        render_frame
      end

      private

      attr_reader :store, :nonce, :content, :failure

      def tiercel? = store.respond_to?(:stored_key)
      def actions? = @web.actions?
      def notice = NOTICES[@request["notice"]]

      # The polling script requests only the contents: a second style with another nonce would be rejected.
      def whole? = @request.header("X-Tiercel-Part").nil?

      def style = STYLE.html_safe
      def script = SCRIPT.html_safe
      def icon = ICON.html_safe
      def icon_address = "data:image/svg+xml;base64,#{[ICON.gsub("currentColor", "#1d6fb8")].pack("m0")}"

      # @return [Array<Array(String, String, Boolean)>] name, address, and whether it is this page
      def tabs = TABS.map { |name, path| [name, address(path), path == tab] }
      def tab = @request.path

      def address(path, **query)
        query = query.compact
        "#{@request.base}#{path}#{"?#{URI.encode_www_form(query)}" if query.any?}"
      end

      # For pages with figures of a period; each of them has a `usual_period`.
      def period = PERIODS.key?(@request["period"]) ? @request["period"] : usual_period
      def period_links = PERIODS.map { |key, name| [name, address(tab, period: key), key == period] }
      def figures = @figures ||= ask { Figures.new(store, period) }

      def key_address(key) = address("/key", entry_key: Request.encode_key(key))

      def host = Socket.gethostname
      def mounted = Format.text(tiercel? ? store.backend.to_s : store.class.name)
      def environment = defined?(Rails) && Rails.respond_to?(:env) ? Rails.env.to_s : nil
      def clock(seconds) = Time.at(seconds).strftime("%H:%M:%S %Z")

      def report = @report ||= @web.examination.report(@web.given_stores)
      def examined_at = @web.examination.examined_at

      # The text of the status line, which a screen reader reads aloud when it changes.
      def status
        return "The doctor is examining the cache." unless report
        count = report.findings.count(&:finding?)
        return "The doctor found no problems." if count.zero?
        "The doctor has #{count == 1 ? "1 finding" : "#{count} findings"}."
      end

      def health = report.nil? ? "waiting" : (report.sound? ? "sound" : "found")

      def number(value) = Format.number(value)
      def bytes(value) = Format.bytes(value)
      def seconds(value) = Format.seconds(value)
      def text(value, **) = Format.text(value.to_s, **)

      # Removes control characters from the text of a form field, but adds nothing to it.
      def typed(value) = value.scrub("").gsub(/[[:cntrl:]\p{Cf}]/, "")

      def percent(part, whole) = whole.zero? ? "–" : Format.percent(part.fdiv(whole))

      # A bar for a fraction, drawn without a style attribute, which the security policy forbids.
      def bar(share, css = "share")
        width = format("%.1f", share.clamp(0, 1) * 100)
        (%(<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">) +
          %(<rect class="track" width="100" height="6"/>) +
          %(<rect class="#{css}" width="#{width}" height="6"/></svg>)).html_safe
      end

      # Queries a backend; if that fails, the page shows the error.
      def ask
        yield
      rescue Error => error
        @failure = Format.text(error.message.lines.first.to_s.chomp)
        nil
      end
    end
  end
end
