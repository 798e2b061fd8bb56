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
        records = text.lines.reject { |line| line.strip.empty? }.map { |line| JSON.parse(line) }
        document = records.first&.key?("type") ? assemble(records) : records.first
        return document if document.is_a?(Hash) && document["schema"].to_s.start_with?("tiercel-lab/")
        raise UsageError, "#{path}: not a result of the lab (its schema is #{document && document["schema"].inspect})"
      rescue SystemCallError, JSON::ParserError => e
        raise UsageError, "#{path}: #{e.message}"
      end

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
