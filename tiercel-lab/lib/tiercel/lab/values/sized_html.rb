# frozen_string_literal: true

require_relative "html"

module Tiercel
  module Lab
    module Values
      # HTML of any size.
      class SizedHTML < HTML
        UNITS = { "b" => 1, "kb" => 1024, "mb" => 1024 * 1024 }.freeze
        FORM = /\A(\d+)\s*(b|kb|mb)?\z/i
        # Maximum number of bytes of all objects of a value together.
        TOTAL_BYTES = 8 * 1024 * 1024

        # @param text [String] "300KB", "2MB", "512"
        # @return [SizedHTML]
        # @raise [UsageError]
        def self.parse(text)
          match = FORM.match(text.strip) or raise UsageError, "size #{text.inspect}: expected such as 512B, 20KB or 2MB"
          bytes = match[1].to_i * UNITS.fetch((match[2] || "b").downcase)
          raise UsageError, "size #{text.inspect}: expected at least 1 byte" unless bytes.positive?
          new(bytes:)
        end

        # @param bytes [Integer]
        def initialize(bytes:)
          size = SizedHTML.words(bytes)
          super(name: "html-#{size.delete(" ").downcase}", title: "#{size} of HTML", bytes:,
                count: (TOTAL_BYTES / bytes).clamp(2, 100))
        end

        # @return [Hash{String => Object}] includes the size, because the catalogue does not have the name
        def to_spec = super.merge("html_bytes" => @bytes)

        # @param bytes [Integer]
        # @return [String] "300 KB" for whole kilobytes
        def self.words(bytes)
          unit, factor = UNITS.to_a.reverse.find { |_unit, size| (bytes % size).zero? }
          "#{bytes / factor} #{unit.upcase}"
        end
      end
    end
  end
end
