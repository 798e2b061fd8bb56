# frozen_string_literal: true

require "fileutils"
require "json"
require_relative "cell_record"

module Tiercel
  module Lab
    module Results
      SCHEMA = "tiercel-lab/1"

      # Writes a run into a file as it goes, one JSON line for each part
      # ("run", "cell", "end"), so that nothing is lost when it is
      # interrupted; and the same as one document.
      class Recorder
        # @param command [String] its name
        # @param directory [String]
        # @param started_at [Time]
        # @return [String] path for a run's lines
        def self.path(command, directory: default_directory, started_at: Time.now)
          stamp = started_at.utc.strftime("%Y%m%dT%H%M%SZ")
          File.join(directory, "#{stamp}-#{command}-#{Process.pid}.jsonl")
        end

        # @return [String] TIERCEL_LAB_RESULTS, or the user's data folder
        def self.default_directory
          ENV.fetch("TIERCEL_LAB_RESULTS") do
            data = ENV.fetch("XDG_DATA_HOME") { File.expand_path("~/.local/share") }
            File.join(data, "tiercel-lab", "results")
          end
        end

        # @return [String]
        attr_reader :path
        # @return [Hash{String => Object}] the run as one document (the JSON Schema's)
        attr_reader :document

        # @param path [String]
        # @param run [Hash{String => Object}] command, arguments, seed, protocol, started_at
        # @param environment [Hash{String => Object}] see {Runner::Machine}
        def initialize(path, run:, environment:)
          @path = path
          @document = { "schema" => SCHEMA, "run" => run, "environment" => environment, "workload" => {},
                        "cells" => [], "tables" => [], "complete" => false }
          FileUtils.mkdir_p(File.dirname(path))
          append("type" => "run", "schema" => SCHEMA, "run" => run, "environment" => environment)
        end

        # @param cells [Array<Cell>]
        # @return [void]
        def cells(cells)
          cells.map { |cell| CellRecord.of(cell) }.each do |record|
            @document["cells"] << record
            append("type" => "cell", "cell" => record)
          end
        end

        # A table that is not made of cells (hit ratios, marks, percentiles).
        #
        # @param name [String] the command's or the table's
        # @param rows [Array<Hash{String => Object}>]
        # @param notes [Hash{String => Object}] what else a reader needs
        # @return [void]
        def table(name, rows, **notes)
          record = { "name" => name, "rows" => rows, "notes" => notes.transform_keys(&:to_s) }
          @document["tables"] << record
          append("type" => "table", "table" => record)
        end

        # A whole run of another command, for a run that is made of several.
        #
        # @param record [Hash{String => Object}] see {Suite::Part#to_h}
        # @return [void]
        def part(record)
          (@document["parts"] ||= []) << record
          append("type" => "part", "part" => record)
        end

        # @param facts [Hash{String => Object}] "workload" (digests), "servers", "disturbances"
        # @param complete [Boolean] false after an interruption
        # @return [void]
        def finish(facts, complete:)
          @document.merge!(facts)
          @document["complete"] = complete
          append({ "type" => "end", "complete" => complete }.merge(facts))
        end

        # @param file [String]
        # @return [void]
        def export(file)
          FileUtils.mkdir_p(File.dirname(File.expand_path(file)))
          File.write(file, "#{JSON.generate(@document)}\n")
        end

        private

        def append(record) = File.open(@path, "a") { |file| file.puts(JSON.generate(record)) }
      end
    end
  end
end
