# frozen_string_literal: true

require_relative "text"

module Tiercel
  module Lab
    module Values
      # Strings of 1 KB in any number.
      class ManyTexts < Text
        BYTES = 1024

        # @param count [Integer]
        def initialize(count:)
          words = count.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")
          super(name: "string-1kb-#{count}", title: "String of 1 KB, #{words} of them", bytes: BYTES, count:)
        end

        # @return [Hash{String => Object}] includes the count, because the catalogue does not have the name
        def to_spec = super.merge("count" => count)
      end
    end
  end
end
