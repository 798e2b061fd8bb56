# frozen_string_literal: true

require "json"
require_relative "html/answer_view"
require_relative "html/table_view"
require_relative "html/chart_view"

module Tiercel
  module Lab
    module Report
      # Renders a document as one HTML file without external resources: it contains style, script and drawings, and its
      # content security policy forbids everything else.
      class Html
        STYLE = File.read(File.join(__dir__, "html/page.css"), encoding: "UTF-8")
        SCRIPT = File.read(File.join(__dir__, "html/page.js"), encoding: "UTF-8")
        POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

        # @param document [Document]
        # @return [String] UTF-8
        def self.render(document) = new(document).render

        # Code up to this length does not wrap, because browsers break lines at hyphens.
        UNBROKEN = 24

        # Formats text: escapes it, and marks `code`, *emphasis* and [links](file).
        # @private
        def self.inline(text)
          Report.escape(text).split(/(`[^`]+`)/).map { |part|
            next code(part[1..-2]) if part.match?(/\A`.+`\z/m)
            part.gsub(/(?<![\w*])\*([[:alpha:]][^*]*)\*(?![\w*])/, '<em>\1</em>')
                .gsub(/\[([^\[\]]+)\]\((?!\w+:)([^()\s]+)\)/, '<a href="\2">\1</a>')
          }.join
        end

        # @private
        def self.code(escaped) = "<code#{' class="unbroken"' if escaped.length <= UNBROKEN}>#{escaped}</code>"

        # @private
        def self.copy_button(text, label)
          %(<button type="button" class="copy" data-copy="#{Report.escape(text)}">#{label}</button>)
        end

        # A command or configuration with a button that copies it.
        # @private
        def self.code_block(text, prompt: false)
          shown = prompt ? %(<span class="prompt">$ </span>#{words(text)}) : Report.escape(text)
          %(<div class="code"><pre><code>#{shown}</code></pre>#{copy_button(text, "copy")}</div>)
        end

        # Keeps options in one piece, because browsers break lines at every hyphen.
        # @private
        def self.words(text)
          text.split(/( +)/).map { |part| part.start_with?(" ") ? part : "<span>#{Report.escape(part)}</span>" }.join
        end

        # @param document [Document]
        def initialize(document)
          @document = document
          @anchors = {}
          @used = Hash.new(0)
        end

        # @return [String]
        def render
          <<~HTML
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta http-equiv="Content-Security-Policy" content="#{POLICY}">
            <title>#{Report.escape(@document.title)}</title>
            <link rel="icon" href="data:,">
            <style>
            #{STYLE}</style>
            </head>
            <body>
            #{contents}
            <main>
            #{head}
            #{AnswerView.new(@document.answer).render if @document.answer}
            #{@document.verdicts.map { |verdict| banner(verdict) }.join("\n")}
            #{findings}
            #{environment}
            #{@document.sections.map { |section| section(section) }.join("\n")}
            </main>
            #{data}<script>
            #{SCRIPT}</script>
            </body>
            </html>
          HTML
        end

        private

        # Returns an element's anchor, with a number if another element has the same anchor.
        def anchor(element)
          @anchors[element.object_id] ||= begin
            name = element.anchor.empty? ? "part" : element.anchor
            number = (@used[name] += 1)
            number == 1 ? name : "#{name}-#{number}"
          end
        end

        def contents
          return "" if @document.sections.size < 2
          items = @document.sections.map do |section|
            %(<li><a href="##{anchor(section)}">#{Report.escape(section.title)}</a></li>)
          end
          %(<nav aria-label="Contents"><ol>#{items.join}</ol></nav>)
        end

        def head
          parts = ["<header>", "<h1>#{Html.inline(@document.title)}</h1>"]
          parts << %(<p class="subtitle">#{Html.inline(@document.subtitle)}</p>) if @document.subtitle
          parts << "</header>"
          parts.join
        end

        def banner(verdict)
          %(<div class="banner tone-#{verdict.tone.to_s.tr("_", "-")}">) +
            %(<p class="sentence">#{Html.inline(verdict.sentence)}</p>#{warnings(verdict)}</div>)
        end

        # Each finding links to its section.
        def findings
          items = @document.findings.map do |finding|
            %(<li><a href="##{Report.slug(finding.anchor)}">#{Html.inline(finding.text)}</a></li>)
          end
          items.any? ? %(<ol class="findings" aria-label="Findings">#{items.join}</ol>) : ""
        end

        def warnings(verdict)
          items = verdict.warnings.map { |warning| "<li>#{Html.inline(warning)}</li>" }
          items.any? ? %(<ul class="warnings" aria-label="Warnings">#{items.join}</ul>) : ""
        end

        def environment
          rows = @document.environment.map do |name, value|
            "<div><dt>#{Report.escape(name)}</dt><dd>#{Html.inline(value)}</dd></div>"
          end
          list = rows.any? ? %(<dl class="environment">#{rows.join}</dl>) : ""
          @document.command ? list + Html.code_block(@document.command, prompt: true) : list
        end

        def section(section)
          id = anchor(section)
          heading = %(<h2 id="#{id}"><a href="##{id}">#{Html.inline(section.title)}</a></h2>)
          chapter = ' class="chapter"' if section.elements.any?(Document::Fold)
          "<section#{chapter}>#{heading}\n#{section.elements.map { |element| element(element) }.join("\n")}</section>"
        end

        def element(element)
          case element
          when Table then TableView.new(element, anchor(element)).render
          when Chart then ChartView.new(element, anchor(element)).render
          when Document::Code
            "#{"<h4>#{Html.inline(element.title)}</h4>" if element.title}#{Html.code_block(element.text)}"
          when Document::Heading then %(<h4 id="#{anchor(element)}">#{Html.inline(element.text)}</h4>)
          when Document::Verdict then banner(element)
          when Document::Fold then fold(element)
          else "<p>#{Html.inline(element.text)}</p>"
          end
        end

        def fold(fold)
          %(<details class="fold"><summary>#{Html.inline(fold.title)}</summary>) +
            "#{fold.elements.map { |element| element(element) }.join("\n")}</details>"
        end

        # Escapes "</", which would end the script element inside of a String.
        def data
          return "" if @document.data.nil?
          json = JSON.generate(@document.data).gsub("</", "<\\/").gsub("<!--", "\\u003c!--")
          %(<script type="application/json" id="data">#{json}</script>\n)
        end
      end
    end
  end
end
