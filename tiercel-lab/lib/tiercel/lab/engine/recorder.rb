# frozen_string_literal: true

require "fileutils"
require "json"
require_relative "../errors"
require_relative "../folder"
require_relative "../user_folders"

module Tiercel
  module Lab
    module Engine
      # Writes a run into a file while it is measured, so that an interrupted run keeps its results. Each part ("run",
      # "cell", "table", "part", "end") is one JSON line. The recorder also keeps the run as one document.
      class Recorder
        SCHEMA = "tiercel-lab/1"

        # @param command [String] its name
        # @return [String] path of the run's file
        def self.path(command, directory:, started_at: Time.now)
          stamp = started_at.utc.strftime("%Y%m%dT%H%M%SZ")
          File.join(directory, "#{stamp}-#{command}-#{Process.pid}.jsonl")
        end

        # @return [String] the folder of TIERCEL_LAB_RESULTS, or the user's data folder
        def self.default_directory
          ENV.fetch("TIERCEL_LAB_RESULTS") { UserFolders.data("results") }
        end

        attr_reader :path
        # @return [Hash{String => Object}] the run as one document, see schema/tiercel-lab-1.json
        attr_reader :document

        # @param run [Hash{String => Object}] command, arguments, seed, protocol, started_at
        # @param environment [Hash{String => Object}] see {Machine}
        # @raise [UsageError] if the file cannot be written
        def initialize(path, run:, environment:)
          @path = path
          @document = { "schema" => SCHEMA, "run" => run, "environment" => environment, "workload" => {},
                        "cells" => [], "tables" => [], "complete" => false }
          FileUtils.mkdir_p(File.dirname(path))
          append("type" => "run", "schema" => SCHEMA, "run" => run, "environment" => environment)
        rescue SystemCallError => e
          raise UsageError, "results cannot be kept: #{Folder.not_written(path, e)}; --results DIR names another folder"
        end

        # @param cells [Array<Cell>]
        def cells(cells)
          cells.map(&:record).each { |record| add("cell", record) }
        end

        # Records a table without cells (hit ratios, memory, percentiles).
        #
        # @param rows [Array<Hash{String => Object}>]
        # @param notes [Hash{Symbol => Object}] facts about the whole table
        def table(name, rows, **notes) =
          add("table", "name" => name, "rows" => rows, "notes" => notes.transform_keys(&:to_s))

        # Records a whole run of another command, as part of this one.
        #
        # @param record [Hash{String => Object}] see {CLI::Part#to_h}
        def part(record) = add("part", record)

        # @param facts [Hash{String => Object}] "workload" (digests), "servers", "disturbances"
        # @param complete [Boolean] false after an interruption
        def finish(facts, complete:)
          @document.merge!(facts)
          @document["complete"] = complete
          append({ "type" => "end", "complete" => complete }.merge(facts))
        end

        def export(file) = File.write(file, "#{JSON.generate(@document)}\n")

        private

        def add(kind, record)
          (@document["#{kind}s"] ||= []) << record
          append("type" => kind, kind => record)
        end

        def append(record) = File.open(@path, "a") { |file| file.puts(JSON.generate(record)) }
      end
    end
  end
end
