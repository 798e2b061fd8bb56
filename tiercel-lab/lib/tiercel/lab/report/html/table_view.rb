# frozen_string_literal: true

module Tiercel
  module Lab
    module Report
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
end
