# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Latency
        # The recorded runs of one store in one place.
        class LoopRow
          # @param row [Hash{String => Object}]
          def initialize(row)
            @row = row
          end

          # @param name [String] name of a recorded fact
          # @return [Object]
          def [](name) = @row[name]

          # @return [Boolean]
          def figures? = @row["status"] == "measured" && @row["runs"].any?

          # @return [String]
          def name = "#{self["store"]}, #{self["place"]}"

          # @return [String] source of the long loop's time
          def how = self["long"] ? "measured" : "computed from #{Report::Format.number(self["iterations"])}"

          # @return [Report::Cell, nil] why there are no figures
          def reason
            return if figures?
            words = [(@row["status"] unless @row["status"] == "measured"), @row["reason"]].compact
            Report::Cell.missing(words.empty? ? "not measured: interrupted" : words.join(": "))
          end

          # @return [Array<Array<Float>>] seconds per iteration: for each process, a figure for each run
          def seconds_per_iteration = speeds.sort.map { |_process, turns| turns.values }

          # @return [Statistics::Interval] seconds
          def per_iteration = @per_iteration ||= Statistics::MedianInterval.of(seconds_per_iteration)

          # @param count [Integer] iterations
          # @return [Statistics::Interval] seconds
          def real(count) = per_iteration.map { |seconds| seconds * count }

          # @return [Array<Float>] estimate and bounds of an iteration in ms
          def milliseconds
            [per_iteration.estimate, per_iteration.low, per_iteration.high].map { |seconds| seconds * 1e3 }
          end

          # @return [String] "0.120 ms [0.115-0.131]"
          def words = Report::Cell.interval(per_iteration.map { |seconds| seconds * 1e3 }, unit: "ms").to_s

          # @param count [Integer]
          # @return [Array<Float, nil>] user, system, total and server's CPU, seconds, means
          def cpu(count)
            user, system, server = %w[user system server].map { |name| mean(name, count) }
            [user, system, user + system, server]
          end

          # @return [Float, nil]
          def round_trip_ms
            Statistics.median(@row["round_trips"]) * 1e3 if @row["round_trips"].any?
          end

          # @return [Report::Cell, String]
          def round_trip
            round_trip_ms ? Report::Cell.number(round_trip_ms, unit: "ms") : "none"
          end

          # @param other [LoopRow]
          # @return [Statistics::Interval, nil] time by the other's, runs of the same process and turn paired
          def ratio_to(other) = Engine::Paired.ratio(speeds, other.speeds)

          # @return [Hash{Integer => Hash{Integer => Float}}] seconds an iteration, by process and turn
          def speeds
            @row["runs"].group_by { |run| run["process"] }.transform_values do |runs|
              runs.each_with_index.to_h { |run, turn| [turn, run["real"] / run["iterations"]] }
            end
          end

          private

          def mean(name, count)
            runs = @row["runs"]
            return if runs.any? { |run| run[name].nil? }
            runs.sum { |run| run[name] } / runs.sum { |run| run["iterations"] } * count
          end
        end
      end
    end
  end
end
