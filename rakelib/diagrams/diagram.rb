# frozen_string_literal: true

require "cgi/escape"

# Draws a diagram of boxes, arrows and text as SVG. The SVG follows the reader's light or dark color scheme, and has its
# own background, because the page around it may not follow that scheme.
class Diagram
  STYLE = <<~CSS
    :root { --page: #ffffff; --ink: #1f2328; --soft: #59636e; --line: #8c959f; --edge: #0969da;
            --box: #f6f8fa; --mark: #ddf4ff; --warm: #fff8c5 }
    @media (prefers-color-scheme: dark) {
      :root { --page: #0d1117; --ink: #f0f6fc; --soft: #9198a1; --line: #656c76; --edge: #4493f8;
              --box: #151b23; --mark: #0c2d4a; --warm: #3a2d04 }
    }
    .page { fill: var(--page) }
    text { font: 14px system-ui, sans-serif; fill: var(--ink) }
    .small { font-size: 12px; fill: var(--soft) }
    .strong { font-weight: 600 }
    .box { fill: var(--box); stroke: var(--line) }
    .mark { fill: var(--mark); stroke: var(--edge) }
    .warm { fill: var(--warm); stroke: var(--line) }
    .frame { fill: none; stroke: var(--line); stroke-dasharray: 4 4 }
    .arrow { fill: none; stroke: var(--line); stroke-width: 1.5; marker-end: url(#head) }
    .main { stroke: var(--edge) }
    .wait { fill: none; stroke: var(--line); stroke-width: 1.5; stroke-dasharray: 2 4 }
    #head path { fill: var(--line) }
  CSS
  HEAD = '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" ' \
         'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z"/></marker>'
  LINE_HEIGHT = 18

  # @param width [Integer] pixels
  # @param height [Integer] pixels
  # @param title [String] the picture's name for a screen reader
  # @yieldparam diagram [Diagram]
  # @return [String] SVG
  def self.draw(width, height, title, &)
    new(width, height, title).tap(&).to_s
  end

  def initialize(width, height, title)
    @width = width
    @height = height
    @title = title
    @parts = []
  end

  # @param words [String, nil] centred lines; the first is bold
  # @param kind [Symbol] :box, :mark (highlighted), :warm or :frame (a dashed border with its text at the top)
  def box(x, y, width, height, words = nil, kind: :box)
    @parts << %(<rect class="#{kind}" x="#{x}" y="#{y}" width="#{width}" height="#{height}" rx="6"/>)
    return text(x + 10, y + 20, words, css: "small") if kind == :frame && words
    lines = words.to_s.lines(chomp: true)
    top = y + (height / 2) - ((lines.size - 1) * LINE_HEIGHT / 2) + 5
    lines.each_with_index do |line, index|
      text(x + (width / 2), top + (index * LINE_HEIGHT), line, anchor: "middle", css: index.zero? ? "strong" : "small")
    end
  end

  # @param anchor [String] "start", "middle" or "end"
  # @param css [String] "small" or "strong"
  def text(x, y, words, anchor: "start", css: "small")
    words.lines(chomp: true).each_with_index do |line, index|
      @parts << %(<text class="#{css}" x="#{x}" y="#{y + (index * LINE_HEIGHT)}" text-anchor="#{anchor}">) +
                "#{CGI.escapeHTML(line)}</text>"
    end
  end

  # @param points [Array<Array(Integer, Integer)>] from the first to the last
  # @param words [String, nil] text above the middle of the first segment
  def arrow(*points, words: nil, kind: "arrow")
    @parts << %(<polyline class="#{kind}" points="#{points.map { |point| point.join(",") }.join(" ")}"/>)
    return unless words
    (x, y), (to_x, to_y) = points
    text((x + to_x) / 2, ((y + to_y) / 2) - 7 - ((words.lines.size - 1) * LINE_HEIGHT), words, anchor: "middle")
  end

  def to_s
    <<~SVG
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 #{@width} #{@height}" width="#{@width}"
           role="img" aria-label="#{CGI.escapeHTML(@title)}">
      <title>#{CGI.escapeHTML(@title)}</title>
      <style>
      #{STYLE}</style>
      <defs>#{HEAD}</defs>
      <rect class="page" width="100%" height="100%"/>
      #{@parts.join("\n")}
      </svg>
    SVG
  end
end
