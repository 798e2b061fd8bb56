# frozen_string_literal: true

require_relative "../page"

module Tiercel
  class Web
    module Pages
      # Classes of keys, ordered by the cost of their misses.
      #
      # @private
      class Classes < Page
        page "Classes", "classes"

        private

        def usual_period = "day"
        def classes = figures&.classes || []
      end
    end
  end
end
