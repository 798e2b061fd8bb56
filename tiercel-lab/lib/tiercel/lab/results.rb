# frozen_string_literal: true

require "json"
require_relative "errors"
require_relative "results/recorder"
require_relative "results/schema"

module Tiercel
  module Lab
    # What was measured, on disk and back.
    module Results
      # @param path [String] a run's JSON lines, or a document of `--json`
      # @return [Hash{String => Object}] the document
      # @raise [UsageError] if it is neither
      def self.load(path)
        text = File.read(path)
        records = parse(text.lines.reject { |line| line.strip.empty? })
        document = records.first
        document = assemble(records) if document.is_a?(Hash) && document.key?("type")
        return document if document.is_a?(Hash) && document["schema"].to_s.start_with?("tiercel-lab/")
        raise UsageError,
              "#{path}: not a result of the lab (its schema is " \
              "#{document.is_a?(Hash) ? document["schema"].inspect : "missing"})"
      rescue SystemCallError, JSON::ParserError => e
        raise UsageError, "#{path}: #{e.message}"
      end

      # A run that was killed may have written half of its last line.
      def self.parse(lines)
        lines.each_with_index.filter_map do |line, index|
          JSON.parse(line)
        rescue JSON::ParserError
          raise if index.zero? || index < lines.size - 1
        end
      end
      private_class_method :parse

      def self.assemble(records)
        document = { "workload" => {}, "cells" => [], "tables" => [], "complete" => false }
        records.each do |record|
          case record["type"]
          when "cell" then document["cells"] << record["cell"]
          when "table" then document["tables"] << record["table"]
          when "part" then (document["parts"] ||= []) << record["part"]
          else document.merge!(record.except("type"))
          end
        end
        document
      end
      private_class_method :assemble
    end
  end
end
