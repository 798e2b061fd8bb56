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
      # A chart in a page: drawn for desktops and for phones, with its legend and table.
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
          %(<figure id="#{@anchor}"><figcaption><h3><a href="##{@anchor}">#{Html.inline(@chart.title)}</a></h3>) +
            "</figcaption>#{legend}#{drawings}#{note}#{twin}#{command}</figure>"
        end

        private

        def drawings
          return @chart.svg(nil, id: @anchor) if @chart.fluid?
          { "wide" => Chart::WIDE, "narrow" => Chart::NARROW }.map do |css, width|
            @chart.svg(width, id: "#{@anchor}-#{css}", css:)
          end.join
        end

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
          if css.start_with?("series")
            svg.group(class: css) do
              svg.line(0, 6, 16, 6, class: "line")
              svg.marker(8, 6, index, class: "dot")
            end
          else
            svg.group(class: css) { svg.rect(1, 1, 14, 10, class: "key #{css}") }
          end
        end

        def note = @chart.note ? %(<p class="note">#{Html.inline(@chart.note)}</p>) : ""

        def twin
          view = TableView.new(@chart.table, "#{@anchor}-table", bare: true)
          %(<details class="twin"><summary>The figures as a table</summary>#{view.render}</details>)
        end

        def command = @chart.command ? Html.code_block(@chart.command, prompt: true) : ""
      end
    end

    class Html
      # A table in a page, with its anchor, buttons, command and raw figures.
      # @private
      class TableView
        # Width of a table on a desktop, in px.
        ROOM = 1_300

        # @param table [Table]
        # @param anchor [String] unique in the page
        # @param bare [Boolean] whether to leave out title and command, which the table's chart has
        def initialize(table, anchor, bare: false)
          @table = table
          @anchor = anchor
          @bare = bare
          @columns = table.header.each_index.map { |index| Column.new(table, index) }
          fit
        end

        # @return [String]
        def render
          return body if @bare
          %(<div class="table" id="#{@anchor}">#{heading}#{note}#{floor}#{body}#{command}#{raw}</div>)
        end

        private

        # Draws whiskers while the page has room. Wider tables put the brackets of their figures on a line of their
        # own.
        def fit
          left = ROOM - @columns.sum(&:width)
          @wide = left.negative?
          @columns.each { |column| column.draw if column.spread? && (left -= Column::WHISKER) >= 0 }
        end

        def heading
          %(<div class="heading"><h3><a href="##{@anchor}">#{Html.inline(@table.title)}</a></h3>#{copy}</div>)
        end

        def copy = Html.copy_button(Markdown.render(@table), "copy as Markdown")

        def note = @table.note ? %(<p class="note">#{Html.inline(@table.note)}</p>) : ""

        def floor = @table.floor ? %(<p class="note">Noise floor: #{Html.inline(@table.floor)}.</p>) : ""

        def command = @table.command ? Html.code_block(@table.command, prompt: true) : ""

        def body
          rows = @table.rows.map { |row| row(row) }
          %(<div class="scroll" role="region" tabindex="0" aria-label="#{Report.escape(@table.title)}">) +
            "<table#{' class="wide"' if @wide}><thead><tr>#{@columns.map(&:head).join}</tr></thead>" \
            "<tbody>#{rows.join}</tbody></table></div>" +
            footnotes + (@bare ? copy : "")
        end

        def row(row)
          last = row.rindex { |cell| !cell.to_s.empty? } || 0
          # A reason spans the missing figures after it.
          row = row.first(last + 1) if row[last].kind == :missing
          cells = row.each_with_index.map do |cell, index|
            next @columns[index].cell(cell) unless cell.kind == :missing
            missing(cell, index == row.size - 1 ? @columns.size - index : 1)
          end
          "<tr>#{cells.join}</tr>"
        end

        def missing(cell, span)
          remedy = cell.note ? " <code>#{Report.escape(cell.note)}</code>" : ""
          columns = %( colspan="#{span}") if span > 1
          %(<td class="missing"#{columns}><span>#{Html.inline(cell.value)}#{remedy}</span></td>)
        end

        def footnotes
          return "" if @table.footnotes.empty?
          %(<ol class="footnotes">#{@table.footnotes.map { |text| "<li>#{Html.inline(text)}</li>" }.join}</ol>)
        end

        def raw
          return "" if @table.blocks.empty?
          count = @table.blocks.sum { |blocks| blocks.values.size }
          lines = @table.blocks.map do |blocks|
            unit = blocks.unit ? ", #{Report.escape(blocks.unit)}" : ""
            values = blocks.values.map { |value| Format.number(value, plain: true) }.join(" ")
            "<dt>#{Report.escape(blocks.label)}#{unit}</dt><dd>#{Report.escape(values)}</dd>"
          end
          %(<details><summary>All #{count} blocks</summary><dl class="blocks">#{lines.join}</dl></details>)
        end

        # The common properties of a column's cells: alignment, and scale of the whiskers.
        class Column
          # Texts up to this length do not wrap.
          SHORT = 12
          # Mean width of a character in "[0.58-0.63]", as a share of a digit's width.
          BRACKETS = 0.88
          # Width of whiskers and of their padding, in px.
          WIDTH = 48
          WHISKER = 58
          # Widths in px: of a digit, of a digit in brackets, of a letter, and of the gap between columns. Texts wider
          # than MOST wrap.
          DIGIT = 9.0
          SMALL = 6.8
          LETTER = 7.4
          GAP = 18
          MOST = 190

          def initialize(table, index)
            @table = table
            @index = index
            @cells = table.rows.map { |row| row[index] }
            @numeric = table.numeric?(index)
            numbers = @cells.select(&:numeric?)
            @fraction = numbers.map { |cell| split(cell).last.length }.max || 0
            @bounds = numbers.filter_map(&:bounds_text).map(&:length).max || 0
            @bounded = numbers.select(&:low)
            @whole = numbers.map { |cell| split(cell).first.length }.max || 0
          end

          # @return [Numeric] estimated width in px, without whiskers
          def width
            texts = @cells.reject(&:numeric?).map { |cell| cell.kind == :missing ? 0 : cell.to_s.length * LETTER }
            words = @table.header[@index].split.map { |word| word.length * LETTER }
            figures = ((@whole + @fraction) * DIGIT) + (@bounds.positive? ? (@bounds * SMALL) + 6 : 0)
            [[*texts, 0].max.clamp(0, MOST), *words, figures].max + GAP
          end

          # @return [Boolean] whether whiskers would differ
          def spread? = @bounded.size > 1 && @bounded.map(&:low).min != @bounded.map(&:high).max

          def draw
            low, high = @bounded.map(&:low).min, @bounded.map(&:high).max
            range = [3, WIDTH - 3]
            wide = low.positive? && high / low.to_f > 20
            @scale = wide ? Scale::Log.new(low, high, range) : Scale::Linear.new(low, high, range, nice: false)
          end

          def head
            name = Html.inline(@table.header[@index])
            %(<th scope="col"#{' class="num"' if @numeric}>#{name}</th>)
          end

          def cell(cell)
            mark = footnote(cell)
            return %(<th scope="row">#{Html.inline(cell.to_s)}#{mark}</th>) if @index.zero? && cell.kind == :text
            case cell.kind
            when :number, :interval then td(["num", ("muted" if cell.muted?)], figure(cell, mark))
            when :verdict then td([], verdict(cell), mark)
            when :mark then td(["mark-#{cell.value}"], "<span>#{Report.escape(cell.to_s)}</span>", mark)
            else td([("muted" if cell.muted?), ("short" if cell.to_s.length <= SHORT)], Html.inline(cell.to_s), mark)
            end
          end

          private

          # Each cell names its column, because narrow pages have no header.
          def td(css, content, mark = "")
            css = css.compact
            return "<td></td>" if content.empty?
            %(<td#{%( class="#{css.join(" ")}") if css.any?}#{label}><span>#{content}#{mark}</span></td>)
          end

          def label
            text = @table.header[@index].delete("`")
            text.empty? ? "" : %( data-label="#{Report.escape(text)}")
          end

          def footnote(cell)
            number = @table.footnote(cell)
            number ? %(<sup>#{number}</sup>) : ""
          end

          # Splits a figure into whole part, and fraction with unit.
          def split(cell)
            text = cell.main_text
            at = text.index(/[^\d,\u2212]/) || text.length
            # Browsers drop a space at the beginning of a box, hence a no-break space.
            [text[0...at], text[at..].sub(/\A /, "\u00A0")]
          end

          def figure(cell, mark)
            whole, fraction = split(cell)
            text = "#{Report.escape(whole)}#{fraction_span(fraction, mark)}"
            return text unless @bounds.positive?
            width = (@bounds * BRACKETS).round(1)
            bounds = %(<span class="bounds" style="min-width:#{width}ch">#{cell.bounds_text}</span>)
            %(<span class="estimate">#{text}</span> #{bounds}#{whisker(cell)})
          end

          def fraction_span(fraction, mark)
            return mark if @fraction.zero?
            %(<span class="fraction" style="min-width:#{@fraction}ch">#{Report.escape(fraction)}#{mark}</span>)
          end

          def verdict(cell)
            ratio = %( <span class="bounds">#{Format.number(cell.estimate)}x #{cell.bounds_text}</span>) if cell.low
            %(<span class="verdict verdict-#{cell.value}">#{Report.escape(cell.main_text)}</span>#{ratio})
          end

          def whisker(cell)
            return "" unless @scale && cell.low
            low, middle, high = [cell.low, cell.value, cell.high].map { |value| @scale.call(value).round(1) }
            %(<svg class="mini" width="#{WIDTH}" height="12" aria-hidden="true">) +
              %(<line class="rail" x1="0" y1="6" x2="#{WIDTH}" y2="6"/>) +
              %(<line class="whisker" x1="#{low}" y1="6" x2="#{high}" y2="6"/>) +
              %(<circle class="dot" cx="#{middle}" cy="6" r="2.6"/></svg>)
          end
        end
      end
    end
  end
end
