# frozen_string_literal: true

require "active_support"
require "active_support/core_ext/string/output_safety"
require "erb"
require "socket"

# The page: the doctor's report, what the cache did, what it is worth, and the audit's findings.
#
# @private
class Tiercel::Insight::Web::Page
  Text = Tiercel::Insight::Text
  Chart = Tiercel::Insight::Web::Chart
  ASSETS = File.expand_path("assets", __dir__)
  STYLE, SCRIPT, ICON = %w[page.css page.js icon.svg].map do |name|
    File.read(File.join(ASSETS, name), encoding: "UTF-8").html_safe.freeze
  end
  Tile = Struct.new(:name, :value, :note)
  CLASSES = 25

  # @param store [ActiveSupport::Cache::Store]
  # @param request [Request]
  # @param nonce [String]
  # @param report [Tiercel::Insight::Doctor::Report, nil] nil: the doctor is still examining
  # @param worth [Tiercel::Insight::Worth, nil]
  def initialize(store, request, nonce, report:, worth:)
    @store, @request, @nonce, @report, @worth = store, request, nonce, report, worth
    @figures = Tiercel::Insight.figures
    @buckets = @figures.buckets(request.day? ? 288 : 12)
  end

  # @!method to_s
  #   @return [String]
  template = File.expand_path("templates/page.erb", __dir__)
  # Escapes every value, unless it is a SafeBuffer.
  source = File.read(template, encoding: "UTF-8").gsub(/<%=(.+?)%>/m) { "<%=ERB::Util.html_escape((#{$1}))%>" }
  class_eval("def to_s\n#{ERB.new(source, trim_mode: "-").src.dup.force_encoding(Encoding::UTF_8)}\nend", template, -1)

  private

  attr_reader :nonce, :report, :worth, :figures

  def day? = @request.day?
  # The page's address; with a period, its address for that period.
  def address(period = nil) = "#{@request.base}/#{"?period=#{period}" if period}"
  def host = Text.printable(Socket.gethostname, most: 60)
  def environment = (Rails.env if defined?(Rails) && Rails.respond_to?(:env))
  def text(value, most: 600) = Text.printable(value.to_s, most:)
  def clock(time) = time.strftime("%H:%M:%S")
  def icon_address = "data:image/svg+xml,#{ERB::Util.url_encode(ICON)}"

  def findings = report ? report.findings.select(&:finding?) : []
  def others = report ? report.findings.reject(&:finding?) : []
  def health = report.nil? ? "unknown" : (findings.any? ? "found" : "sound")

  def status
    return "The doctor examines the cache..." if report.nil?
    findings.empty? ? "Nothing found" : "#{findings.size} finding#{"s" if findings.size > 1}"
  end

  def sum(name) = @buckets.sum { |bucket| bucket[name] }

  def tiles
    hits, misses, blocks, seconds, requests = %i[hits misses blocks block_seconds requests].map { |name| sum(name) }
    reads = hits + misses
    [Tile.new("Hit ratio", reads.zero? ? "–" : Text.percent(hits.fdiv(reads)), "#{Text.compact(reads)} reads"),
     Tile.new("Computed misses", Text.compact(blocks),
              blocks.zero? ? "none" : "#{Text.seconds(seconds / blocks)} each"),
     Tile.new("Cost of misses", Text.seconds(seconds),
              requests.zero? ? "in blocks and fragments" : "#{Text.seconds(seconds / requests)} per request"),
     Tile.new("Writes", Text.compact(sum(:writes)), "#{Text.compact(sum(:deletes))} deletes"),
     Tile.new("Processes", figures.processes.to_s, "running, or ended lately")]
  end

  def charts
    slices = @buckets.each_slice(day? ? 6 : 1).to_a
    times = slices.map { |slice| Time.at(slice.first[:at]) }
    series = ->(name, css, figure) { Chart::Series.new(name, css, slices.map { |all| all.sum { |one| one[figure] } }) }
    [Chart.new(id: "reads", title: "Reads", times:, headline: Text.compact(sum(:hits) + sum(:misses)),
               series: [series["hits", "hit", :hits], series["misses", "miss", :misses]]),
     Chart.new(id: "cost", title: "Cost of misses", times:, format: :seconds,
               headline: Text.seconds(sum(:block_seconds)), series: [series["in blocks", "cost", :block_seconds]])]
  end

  # The miss ratio by size, as a line with its 95 % band.
  def curve
    sizes = worth&.sizes.to_a
    return if sizes.empty?
    top = [sizes.map(&:high).max, 0.01].max
    x = ->(index) { (48 + (index * 380.0 / (sizes.size - 1))).round(1) }
    y = ->(ratio) { (146 - (136 * ratio / top)).round(1) }
    points = ->(ratio) { sizes.each_with_index.map { |one, at| "#{x[at]},#{y[one[ratio]]}" } }
    axes = [0, top / 2, top].map do |part|
      %(<line class="grid" x1="48" x2="434" y1="#{y[part]}" y2="#{y[part]}"/>) +
        %(<text class="axis" x="42" y="#{y[part] + 3.5}" text-anchor="end">#{Text.percent(part)}</text>)
    end
    labels = sizes.each_with_index.map do |one, at|
      now = one.factor == 1.0 ? " now" : ""
      title = format("%g times the size: %.1f %% misses [%.1f to %.1f]",
                     one.factor, one.miss_ratio * 100, one.low * 100, one.high * 100)
      %(<g><title>#{title}</title>) +
        %(<circle class="dot#{now}" cx="#{x[at]}" cy="#{y[one.miss_ratio]}" r="4"/>) +
        %(<text class="axis" x="#{x[at]}" y="163" text-anchor="middle">x#{format("%g", one.factor)}</text></g>)
    end
    [%(<svg viewBox="0 0 440 168" role="img" aria-labelledby="worth-title">), *axes,
     %(<polygon class="band" points="#{[*points[:high], *points[:low].reverse].join(" ")}"/>),
     %(<polyline class="line" points="#{points[:miss_ratio].join(" ")}"/>),
     *labels, "</svg>"].join.html_safe
  end

  def class_rows
    values = worth ? worth.classes.to_h { |one| [one.name, one] } : {}
    known = figures.classes(CLASSES)
    rest = values.values.reject { |one| known.any? { |cost| cost[:name] == one.name } }.first(10)
    [*known.map { |cost| [cost, values[cost[:name]]] }, *rest.map { |one| [nil, one] }]
  end

  def held(one) = one ? (one.bytes ? Text.bytes(one.bytes) : "#{Text.compact(one.entries)} entries") : "–"
  def saved(one) = one ? (one.saves_nothing ? "nothing" : Text.seconds(one.ms / 1_000)) : "–"
end
