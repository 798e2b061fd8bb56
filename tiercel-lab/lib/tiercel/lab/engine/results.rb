# frozen_string_literal: true

require "json"
require_relative "../errors"
require_relative "recorder"

module Tiercel
  module Lab
    module Engine
      # Reads the results of a run from its file.
      module Results
        # The warning of a run whose file has no end.
        KILLED = "The run was killed, or still runs: tables, cells or processes are missing."

        # @param path [String] a run's JSON lines, or a document of `--json`
        # @return [Hash{String => Object}] the document, see schema/tiercel-lab-1.json
        # @raise [UsageError] if it is neither; the message says what the file is
        def self.load(path)
          raise UsageError, "#{path}: a folder; name a file of results" if File.directory?(path)
          text = File.read(path, encoding: Encoding::UTF_8).scrub
          records = whole(text) || parse(path, text.lines.reject { |line| line.strip.empty? })
          document = records.first
          other = records.drop(1).find { |record| !record.is_a?(Hash) }
          raise UsageError, "#{path}: not a result of the lab: a line is #{other.inspect.slice(0, 40)}" if other
          document = assemble(records) if document.is_a?(Hash) && document.key?("type")
          lacking = lacking(document) or return document
          raise UsageError, "#{path}: JSON, but not a result of the lab (#{lacking})"
        rescue Errno::ENOENT
          raise UsageError, "#{path}: the file does not exist"
        rescue SystemCallError => e
          raise UsageError, "#{path}: #{Folder.reason(e)}"
        end

        # @return [String, nil] the reason why the document is no run; the first line of a run names its command
        def self.lacking(document)
          return "its schema is missing" unless document.is_a?(Hash)
          schema = document["schema"]
          return "its schema is #{schema.inspect}, expected #{Recorder::SCHEMA}" if schema != Recorder::SCHEMA
          "it names no command" unless document["run"].is_a?(Hash) && document["run"].key?("command")
        end
        private_class_method :lacking

        # @return [Array<Hash>, nil] the document of a file that is one object over several lines, as formatters write
        def self.whole(text)
          [JSON.parse(text)] if text.match?(/\A\s*\{\s*$/)
        rescue JSON::ParserError
          nil
        end
        private_class_method :whole

        # Ignores an incomplete last line, which a killed run may leave.
        def self.parse(path, lines)
          raise UsageError, "#{path}: empty, not a result of the lab" if lines.empty?
          lines.each_with_index.filter_map do |line, index|
            JSON.parse(line)
          rescue JSON::ParserError
            next if index == lines.size - 1 && index.positive?
            raise UsageError, "#{path}: not a result of the lab: line #{index + 1} is not JSON " \
                              "(#{line.strip.scrub.slice(0, 40).inspect}); expected the JSON lines of a run, which " \
                              "prints their path last, or one document of --json"
          end
        end
        private_class_method :parse

        def self.assemble(records)
          document = { "workload" => {}, "cells" => [], "tables" => [], "complete" => false }
          document["warnings"] = [KILLED] if records.none? { |record| record["type"] == "end" }
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
