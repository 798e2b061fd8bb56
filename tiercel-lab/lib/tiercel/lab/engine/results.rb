# frozen_string_literal: true

require "json"
require_relative "../errors"

module Tiercel
  module Lab
    module Engine
      # What was measured, read back from its file.
      module Results
        # @param path [String] a run's JSON lines, or a document of `--json`
        # @return [Hash{String => Object}] the document, see schema/tiercel-lab-1.json
        # @raise [UsageError] if it is neither, with what it is instead
        def self.load(path)
          raise UsageError, "#{path}: a folder; name a file of results" if File.directory?(path)
          records = parse(path, File.read(path).lines.reject { |line| line.strip.empty? })
          document = records.first
          document = assemble(records) if document.is_a?(Hash) && document.key?("type")
          return document if document.is_a?(Hash) && document["schema"].to_s.start_with?("tiercel-lab/")
          raise UsageError, "#{path}: JSON, but not a result of the lab (its schema is " \
                            "#{document.is_a?(Hash) ? document["schema"].inspect : "missing"})"
        rescue SystemCallError => e
          raise UsageError, "#{path}: #{e.message}"
        end

        # A run that was killed may have written half of its last line.
        def self.parse(path, lines)
          raise UsageError, "#{path}: empty, not a result of the lab" if lines.empty?
          lines.each_with_index.filter_map do |line, index|
            JSON.parse(line)
          rescue JSON::ParserError
            next if index == lines.size - 1 && index.positive?
            raise UsageError, "#{path}: not a result of the lab: line #{index + 1} is not JSON " \
                              "(#{line.strip.scrub.slice(0, 40).inspect}); a run prints its file's path last"
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
end
