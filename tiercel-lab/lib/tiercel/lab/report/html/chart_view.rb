# frozen_string_literal: true

module Tiercel
  module Lab
    module Report
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
    end
  end
end
