# frozen_string_literal: true

module Tiercel
  module Lab
    module Report
      class Html
        # A table in a page, with its anchor, buttons, command and raw figures.
        # @private
        class TableView
          # @param table [Table]
          # @param anchor [String] unique in the page
          # @param bare [Boolean] without title and command: the text twin of a chart, which has its own
          def initialize(table, anchor, bare: false)
            @table = table
            @anchor = anchor
            @bare = bare
            @columns = table.header.each_index.map { |index| Column.new(table, index) }
          end

          # @return [String]
          def render
            return body if @bare
            %(<div class="table" id="#{@anchor}">#{heading}#{note}#{body}#{command}#{raw}</div>)
          end

          private

          def heading
            %(<div class="heading"><h3><a href="##{@anchor}">#{Html.inline(@table.title)}</a></h3>#{copy}</div>)
          end

          def copy = Html.copy_button(Markdown.render(@table), "copy as Markdown")

          def note = @table.note ? %(<p class="note">#{Html.inline(@table.note)}</p>) : ""

          def command = @table.command ? Html.code_block(@table.command, prompt: true) : ""

          def body
            rows = @table.rows.map { |row| row(row) }
            %(<div class="scroll" role="region" tabindex="0" aria-label="#{Report.escape(@table.title)}">) +
              "<table><thead><tr>#{@columns.map(&:head).join}</tr></thead><tbody>#{rows.join}</tbody></table></div>" +
              footnotes + (@bare ? copy : "")
          end

          def row(row)
            last = row.rindex { |cell| !cell.to_s.empty? } || 0
            # A reason takes the place of the figures after it that are not there.
            row = row.first(last + 1) if row[last].kind == :missing
            cells = row.each_with_index.map do |cell, index|
              next @columns[index].cell(cell) unless cell.kind == :missing
              missing(cell, index == row.size - 1 ? @columns.size - index : 1)
            end
            "<tr>#{cells.join}</tr>"
          end

          def missing(cell, span)
            remedy = cell.note ? " <code>#{Report.escape(cell.note)}</code>" : ""
            %(<td class="missing"#{%( colspan="#{span}") if span > 1}>#{Html.inline(cell.value)}#{remedy}</td>)
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

          # What the cells of a column have in common: alignment, and the scale of their whiskers.
          class Column
            # Characters of a text that is not broken.
            SHORT = 12
            # Width of a character of "[0.58-0.63]" on average, by a digit's.
            BRACKETS = 0.88

            def initialize(table, index)
              @table = table
              @index = index
              @cells = table.rows.map { |row| row[index] }
              @numeric = table.numeric?(index)
              numbers = @cells.select(&:numeric?)
              @fraction = numbers.map { |cell| split(cell).last.length }.max || 0
              @bounds = numbers.filter_map(&:bounds_text).map(&:length).max || 0
              prepare_whiskers(numbers.select(&:low))
            end

            def head
              name = Html.inline(@table.header[@index])
              %(<th scope="col"#{' class="num"' if @numeric}>#{name}</th>)
            end

            def cell(cell)
              mark = footnote(cell)
              return %(<th scope="row">#{Html.inline(cell.to_s)}#{mark}</th>) if @index.zero? && cell.kind == :text
              case cell.kind
              when :number, :interval then %(<td class="num#{" muted" if cell.muted?}">#{figure(cell, mark)}</td>)
              when :verdict then %(<td>#{verdict(cell)}#{mark}</td>)
              when :mark then %(<td class="mark-#{cell.value}"><span>#{Report.escape(cell.to_s)}</span>#{mark}</td>)
              else text(cell, mark)
              end
            end

            private

            # Short ones are kept in one line.
            def text(cell, mark)
              css = [("muted" if cell.muted?), ("short" if cell.to_s.length <= SHORT)].compact
              %(<td#{%( class="#{css.join(" ")}") if css.any?}>#{Html.inline(cell.to_s)}#{mark}</td>)
            end

            def footnote(cell)
              number = @table.footnote(cell)
              number ? %(<sup>#{number}</sup>) : ""
            end

            # The whole part, and the fraction with the unit.
            def split(cell)
              text = cell.main_text
              at = text.index(/[^\d,\u2212]/) || text.length
              # A space at the beginning of a box of its own would not be seen.
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

            WIDTH = 48

            def prepare_whiskers(cells)
              return if cells.size < 2
              low, high = cells.map(&:low).min, cells.map(&:high).max
              return if low == high
              range = [3, WIDTH - 3]
              wide = low.positive? && high / low.to_f > 20
              @scale = wide ? Scale::Log.new(low, high, range) : Scale::Linear.new(low, high, range, nice: false)
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
