# frozen_string_literal: true

module Tiercel::Lab
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

    class Html
      # The answer at the top of a page.
      class AnswerView
        # @param answer [Document::Answer]
        def initialize(answer)
          @answer = answer
        end

        # @return [String]
        def render
          <<~HTML
            <section class="answer" aria-label="The answer">
            <p class="conditions">#{Html.inline(@answer.conditions)}</p>
            <p class="sentence">#{Html.inline(@answer.sentence)}</p>
            <ol class="candidates">#{@answer.candidates.map { |candidate| candidate(*candidate) }.join}</ol>
            <p>#{Html.inline(@answer.notes.join(" "))}</p>
            #{changes}</section>
          HTML
        end

        private

        def candidate(name, cost, memory, configuration)
          %(<li><strong>#{Html.inline(name)}</strong> <span class="cost">#{Html.inline(cost)}</span> ) +
            %(<span class="memory">#{Html.inline(memory)}</span>) +
            "#{Html.code_block(configuration) if configuration}</li>"
        end

        def changes
          return "" if @answer.changes.empty?
          items = @answer.changes.map { |change| "<li>#{Html.inline(change)}</li>" }
          "<p>What would change the answer:</p><ul>#{items.join}</ul>"
        end
      end
    end

    class Html
      # A chart in a page, with its legend and table.
      # @private
      class ChartView
        # @param chart [Chart]
        # @param anchor [String] unique in the page
        def initialize(chart, anchor)
          @chart = chart
          @anchor = anchor
        end

        # @return [String]
        def render
          twin = TableView.new(@chart.table, "#{@anchor}-table", bare: true)
          %(<figure id="#{@anchor}"><figcaption><h3><a href="##{@anchor}">#{Html.inline(@chart.title)}</a></h3>) +
            "</figcaption>#{legend}#{@chart.svg(id: "#{@anchor}-chart")}" +
            %(<details class="twin"><summary>The figures as a table</summary>#{twin.render}</details>) +
            "#{Html.code_block(@chart.command, prompt: true) if @chart.command}</figure>"
        end

        private

        def legend
          entries = @chart.legend.each_with_index.map do |(label, css), index|
            swatch = Svg.new(16, 12)
            sample(swatch, css, index)
            %(<li><svg width="16" height="12" aria-hidden="true">#{swatch.body}</svg>#{Report.escape(label)}</li>)
          end
          entries.empty? ? "" : %(<ul class="legend">#{entries.join}</ul>)
        end

        # A sample for the legend: a line with its marker for a series, a coloured box for everything else.
        def sample(svg, css, index)
          return svg.group(class: css) { svg.rect(1, 1, 14, 10, class: "key #{css}") } unless css.start_with?("series")
          svg.group(class: css) do
            svg.line(0, 6, 16, 6, class: "line")
            svg.marker(8, 6, index, class: "dot")
          end
        end
      end
    end

    class Html
      # A table in a page, with its anchor, buttons, command and raw figures.
      # @private
      class TableView
        # Texts up to this length do not wrap.
        SHORT = 12

        # @param table [Table]
        # @param anchor [String] unique in the page
        # @param bare [Boolean] whether to leave out title and command, which the table's chart has
        def initialize(table, anchor, bare: false)
          @table = table
          @anchor = anchor
          @bare = bare
          @numeric = table.header.each_index.map { |index| table.numeric?(index) }
        end

        # @return [String]
        def render
          copy = Html.copy_button(Markdown.render(@table), "copy as Markdown")
          return body + copy if @bare
          title = %(<h3><a href="##{@anchor}">#{Html.inline(@table.title)}</a></h3>)
          notes = [*@table.note, *("Noise floor: #{@table.floor}." if @table.floor)]
          %(<div class="table" id="#{@anchor}"><div class="heading">#{title}#{copy}</div>) +
            notes.map { |text| %(<p class="note">#{Html.inline(text)}</p>) }.join + body +
            "#{Html.code_block(@table.command, prompt: true) if @table.command}</div>"
        end

        private

        def body
          header = @table.header.zip(@numeric).map do |name, numeric|
            %(<th scope="col"#{' class="num"' if numeric}>#{Html.inline(name)}</th>)
          end
          footnotes = @table.footnotes.map { |text| "<li>#{Html.inline(text)}</li>" }
          %(<div class="scroll" role="region" tabindex="0" aria-label="#{Report.escape(@table.title)}">) +
            "<table><thead><tr>#{header.join}</tr></thead>" \
            "<tbody>#{@table.rows.map { |row| row(row) }.join}</tbody></table></div>" \
            "#{%(<ol class="footnotes">#{footnotes.join}</ol>) if footnotes.any?}"
        end

        # A reason spans the missing figures after it.
        def row(row)
          last = row.rindex { |cell| !cell.to_s.empty? } || 0
          row = row.first(last + 1) if row[last].kind == :missing
          cells = row.each_with_index.map do |cell, index|
            span = @table.header.size - index if cell.kind == :missing && index == row.size - 1 && last < row.size
            cell(cell, index, span)
          end
          "<tr>#{cells.join}</tr>"
        end

        # Each cell names its column, because narrow pages have no header.
        def cell(cell, index, span)
          number = @table.footnote(cell)
          content = "#{content(cell)}#{%(<sup>#{number}</sup>) if number}"
          return %(<th scope="row">#{content}</th>) if index.zero? && cell.kind == :text
          return "<td></td>" if content.empty?
          css = [("mark-#{cell.value}" if cell.kind == :mark), ("num" if cell.numeric?),
                 ("muted" if cell.muted? && cell.kind != :missing), ("short" if cell.to_s.length <= SHORT)].compact
          css = ["missing"] if cell.kind == :missing
          label = @table.header[index].delete("`") unless cell.kind == :missing
          attributes = { class: css.join(" "), colspan: (span if span && span > 1), "data-label": label }
          words = attributes.filter_map { |name, text| %( #{name}="#{Report.escape(text)}") unless text.to_s.empty? }
          "<td#{words.join}><span>#{content}</span></td>"
        end

        def content(cell)
          case cell.kind
          when :number, :interval then "#{Report.escape(cell.main_text)}#{bounds(cell.bounds_text)}"
          when :verdict
            %(<span class="verdict verdict-#{cell.value}">#{Report.escape(cell.main_text)}</span>)
          when :missing
            "#{Html.inline(cell.value)}#{" <code>#{Report.escape(cell.note)}</code>" if cell.note}"
          else Html.inline(cell.to_s)
          end
        end

        def bounds(text) = text && %( <span class="bounds">#{text}</span>)
      end
    end
  end
end
