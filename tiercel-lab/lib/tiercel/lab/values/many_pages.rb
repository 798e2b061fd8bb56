# frozen_string_literal: true

require_relative "html"

module Tiercel
  module Lab
    module Values
      # Many pages in little time: a few generated pages, each with many different beginnings, so that no two pages are
      # equal.
      class ManyPages < HTML
        MADE = 8

        def generate(seed)
          pages = Array.new(MADE) { |index| text(Random.new(seed + index), index) }
          Array.new(count) { |index| numbered(pages[index % MADE], index) }
        end

        private

        def numbered(page, index)
          cut = "<!-- #{index} -->".concat(page).byteslice(0, @bytes).scrub("")
          cut << (" " * (@bytes - cut.bytesize))
        end
      end
    end
  end
end
