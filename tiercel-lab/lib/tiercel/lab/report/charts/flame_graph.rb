# frozen_string_literal: true

require "digest"
require_relative "stacks"

module Tiercel
  module Lab
    module Report
      module Charts
        # Shows where time is spent: a frame's width is its share of the samples, and callers are below the functions
        # that they call (after Brendan Gregg's flame graphs). Widths are in percent, so that one drawing fits every
        # page. Frames below a thousandth are left out.
        class FlameGraph < Chart
          ROW = 19
          LEAST = 0.001

          # @param folded [Hash{String => Numeric}, String] see {Stacks.parse}
          # @param unit [String] unit of the samples
          # @param options [Hash] see {Chart#initialize}
          def initialize(title, folded, unit: "samples", **options)
            super(title, **options)
            @stacks = Stacks.parse(folded)
            @unit = unit
          end

          def fluid? = true

          # @param count [Integer] rows
          # @return [Table] the functions with the most samples of their own
          def table(count: 20)
            table = twin(["function", "self, #{@unit}", "self, %"],
                         note: "Time in the function itself, without what it calls.")
            top_own(count).each { |name, own| table.row(name, own, Cell.number(percent(own), digits: 1)) }
            table
          end

          def svg(_width = nil, id: anchor, css: nil)
            rows = visible_depth
            height = (rows * ROW) + 2
            body = frames(rows)
            %(<svg class="#{["chart flame", css].compact.join(" ")}" width="100%" height="#{height}" role="img" ) +
              %(aria-labelledby="#{id}-t #{id}-d"><title id="#{id}-t">#{Report.escape(title)}</title>) +
              %(<desc id="#{id}-d">#{Report.escape(description)}</desc>#{body}</svg>)
          end

          private

          def top_own(count) = @stacks.own_by_name.max_by(count, &:last)

          def percent(samples) = @stacks.total.zero? ? 0.0 : samples * 100.0 / @stacks.total

          def visible?(frame) = @stacks.total.positive? && frame.weight >= @stacks.total * LEAST

          def visible_depth
            @stacks.each_frame.filter_map { |frame, depth| depth + 1 if visible?(frame) }.max || 1
          end

          def summary
            return "No samples." if @stacks.total.zero?
            top = top_own(3).map { |name, own| "#{name} #{Format.number(percent(own), digits: 1)} %" }
            "#{Format.number(@stacks.total)} #{@unit}; most time itself: #{top.join(", ")}."
          end

          def frames(rows)
            parts = []
            place(@stacks.root, 0, 0.0, rows, parts)
            parts.join
          end

          def place(frame, depth, left, rows, parts)
            return unless visible?(frame)
            parts << box(frame, left, (rows - 1 - depth) * ROW)
            frame.children.sort.each do |_, child|
              place(child, depth + 1, left, rows, parts)
              left += percent(child.weight)
            end
          end

          # Uses a nested <svg>, which cuts the name at the box's edge.
          def box(frame, left, y)
            width = percent(frame.weight)
            name = Report.escape(frame.name)
            text = width > 1.5 ? %(<text x="5" y="13">#{name}</text>) : ""
            %(<svg x="#{left.round(3)}%" y="#{y}" width="#{width.round(3)}%" height="#{ROW}" ) +
              %(data-tip="#{Report.escape(tip(frame))}">) +
              %(<rect width="100%" height="#{ROW - 1}" rx="1" #{paint(frame)}/>) +
              "#{text}</svg>"
          end

          def tip(frame)
            share, own = [frame.weight, frame.own].map { |samples| Format.number(percent(samples), digits: 1) }
            text = "#{frame.name}: #{Format.number(frame.weight)} #{@unit}, #{share} %"
            frame.own.positive? ? "#{text}, itself #{own} %" : text
          end

          # A function has the same shade in every report.
          def paint(frame)
            return 'class="flame-root"' if frame.equal?(@stacks.root)
            %(class="flame-#{Digest::MD5.hexdigest(frame.name).to_i(16) % 6}")
          end
        end
      end
    end
  end
end
