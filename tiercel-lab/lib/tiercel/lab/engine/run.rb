# frozen_string_literal: true

require "json"
require "time"
require_relative "machine"
require_relative "measurement"
require_relative "pinning"
require_relative "reachable"
require_relative "recorder"
require_relative "warnings"

module Tiercel
  module Lab
    module Engine
      # A command's run: it measures, records every result at once, and keeps the recorded results after Ctrl-C.
      class Run
        # @param command [String] its name
        # @param arguments [Array<String>] the command line's arguments
        # @param settings [#seed, #requires, #results, #protocol, #bounded] the user's options
        # @param progress [#call] builds a progress display for a number of expected seconds
        def initialize(command:, arguments:, settings:, progress:)
          @command = command
          @arguments = arguments
          @settings = settings
          @progress = progress
          @facts = { "workload" => {}, "servers" => [], "disturbances" => [] }
        end

        # @param comparisons [Array<Comparison>]
        # @param options [Hash] other options of {Measurement#initialize}
        # @return [Measurement] the measurement with summarized cells, also after an interruption
        def measure(comparisons, protocol: @settings.protocol, **options)
          protocol = @settings.bounded(protocol)
          Reachable.check(comparisons.flat_map { |one| one.arms.map(&:contestant) })
          start(protocol)
          measurement = Measurement.new(comparisons, protocol:, seed: @settings.seed, requires: @settings.requires,
                                        **options)
          watch(Measurement.expected_seconds(comparisons, protocol)) do |progress|
            measurement.progress = progress
            measurement.run { |_value, cells| recorder.cells(cells) }
          end
          add_facts(measurement)
          measurement
        end

        # Shows progress. Ctrl-C and SIGTERM end the block, not the run.
        #
        # @yieldparam progress [#advance, #expect, #say] receives each step by `advance(seconds, what)`
        # @return [Object, nil] the block's value, nil after an interruption
        def watch(expected_seconds, &)
          start
          follow(@progress.call(expected_seconds), &) unless interrupted?
        end

        # Runs a table's trial and records its servers.
        #
        # @param trial [Trial]
        # @param expected_seconds [Float]
        def try(trial, expected_seconds)
          watch(expected_seconds) { |progress| trial.run(progress) }
          @facts["servers"] |= trial.servers
        end

        # Records a table that has no cells.
        def table(...) = recorder.table(...)

        # @return [Recorder, nil] nil until the first measurement opens the results file
        attr_reader :recorder

        # @return [Hash{String => Object}] the run in the form of its file, from which reports are made
        def results = JSON.parse(JSON.generate(recorder.document))

        # Opens the results file.
        def start(protocol = @settings.protocol)
          return if recorder
          environment = Machine.describe.merge("pinning" => Pinning.new.to_s, "gems" => gems)
          run = { "command" => @command, "arguments" => @arguments, "seed" => @settings.seed,
                  "protocol" => protocol.to_h, "started_at" => Time.now.utc.iso8601 }
          path = Recorder.path(@command, directory: @settings.results)
          @recorder = Recorder.new(path, run:, environment:)
        end

        # @param more [Hash{String => Object}] additional facts of the run
        def finish(more = {})
          start
          recorder.finish(@facts.merge(more), complete: !interrupted?)
        end

        # Shows a message before the measurement, for steps that take a long time.
        def say(text) = @progress.call(1.0).say(text)

        # Marks the run as interrupted, for callers that handle Ctrl-C themselves.
        def interrupted! = @interrupted = true

        def interrupted? = @interrupted ? true : false

        # @param measurements [Array<Measurement>]
        # @return [Array<String>] reasons to doubt the figures
        def warnings(measurements)
          Warnings.of(measurements.flat_map(&:disturbances), measurements.flat_map(&:cells), interrupted: interrupted?)
        end

        private

        def follow(progress)
          yield progress
        rescue SignalException
          interrupted!
          progress.say("interrupted; the results so far are kept")
          nil
        ensure
          progress.clear
        end

        def gems = Gem.loaded_specs.transform_values { |spec| spec.version.to_s }.sort.to_h

        # Adds up: a command may measure several times.
        def add_facts(measurement)
          @facts["workload"].merge!(measurement.digests)
          @facts["servers"] |= measurement.servers
          @facts["disturbances"].concat(measurement.disturbances)
        end
      end
    end
  end
end
