# frozen_string_literal: true

module Tiercel
  module Lab
    module Report
      module Charts
        # Finds room for labels beside points. Earlier labels have priority.
        class LabelPlaces
          HEIGHT = 14
          GAP = 8

          # @param left [Numeric] px, left edge of the area for labels
          def initialize(left, top, right, bottom)
            @left = left
            @top = top
            @right = right
            @bottom = bottom
            @points = []
            @labels = []
          end

          # Reserves the room of a point. Only important labels may cover it.
          #
          # @return [void]
          def point(x, y) = @points << [x - 5, y - 5, x + 5, y + 5]

          # @param x [Numeric] x coordinate of the point
          # @param y [Numeric]
          # @param width [Numeric] width of the label
          # @param important [Boolean] whether it may cover a point if there is no other room
          # @return [Array(Float, Float), nil] left and top of the label; nil without room
          def find(x, y, width, important: false)
            above, below, beside = y - GAP - HEIGHT, y + GAP, y - (HEIGHT / 2)
            left, middle, right = x - width - 5, x - (width / 2), x + 5
            places = [[x + GAP, beside], [x - GAP - width, beside], [middle, above], [middle, below],
                      [right, above], [right, below], [left, above], [left, below]]
            place = places.find { |left, top| free?(left, top, width, @points + @labels) }
            place ||= places.find { |left, top| free?(left, top, width, @labels) } if important
            @labels << [place[0], place[1], place[0] + width, place[1] + HEIGHT] if place
            place
          end

          private

          def free?(left, top, width, taken)
            return false if left < @left || left + width > @right || top < @top || top + HEIGHT > @bottom
            taken.none? { |x1, y1, x2, y2| left < x2 && left + width > x1 && top < y2 && top + HEIGHT > y1 }
          end
        end
      end
    end
  end
end
