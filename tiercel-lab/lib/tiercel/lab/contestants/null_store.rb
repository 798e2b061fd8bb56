# frozen_string_literal: true

require_relative "../contestant"

module Tiercel
  module Lab
    module Contestants
      # ActiveSupport::Cache::NullStore: what Rails' machinery costs before any store is asked.
      class NullStore < Contestant
        def build(_context) = ActiveSupport::Cache::NullStore.new(**options)

        def keeps? = false

        def stored_bytes(*) = 0
      end

      register "null_store", NullStore
    end
  end
end
