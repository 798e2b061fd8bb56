# frozen_string_literal: true

module Tiercel
  module Lab
    # What the lab shows: data in, text out. Nothing here measures, reads files
    # or talks to a network.
    module Report
      # @param text [String]
      # @return [String] for an anchor: lower case, digits and dashes
      def self.slug(text) = text.downcase.gsub(/[^a-z0-9]+/, "-").gsub(/\A-|-\z/, "")
    end
  end
end

require_relative "report/table"
