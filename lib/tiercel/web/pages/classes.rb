# frozen_string_literal: true

require_relative "../figures"
require_relative "../page"

module Tiercel
  class Web
    module Pages
      # Classes of keys, ordered by the cost of their misses.
      #
      # @private
      class Classes < Page
        page "Classes", "classes"
        PERIODS = { "hour" => "Last hour", "day" => "Last day" }.freeze

        private

        def period = PERIODS.key?(@request["period"]) ? @request["period"] : "day"
        def period_links = PERIODS.map { |key, name| [name, address("/classes", period: key), key == period] }
        def figures = @figures ||= ask { Figures.new(store, period) }
        def classes = figures&.classes || []
      end
    end
  end
end
