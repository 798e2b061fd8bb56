# frozen_string_literal: true

module Tiercel::Lab
  # The measuring engine: plans, fresh processes, slices and their summaries. The engine does not know the tables, and
  # does not print.
  module Engine
    Tiercel::Lab.declare self,
                         "engine/arm" => %i[Arm ArmProcess Context SingleArm TimedArm],
                         "engine/calibration" => %i[Calibration SteadyState],
                         "engine/machine" => %i[Disturbance Machine Pinning ResidentMemory ServerCPU Stopwatch],
                         "engine/bundle" => %i[Bundle Gemfile], "engine/shop" => %i[Shop],
                         "engine/job" => %i[Job Worker WorkerPool],
                         "engine/cell" => %i[ArmSpec Cell Comparison Outcome Paired],
                         "engine/measurement" => %i[Measurement Pace Round Rounds Slots],
                         "engine/protocol" => %i[Protocol], "engine/summary" => %i[Noise Summary Warnings],
                         "engine/run" => %i[Reachable Recorder Results Run],
                         "engine/trial" => %i[Scratch ServerPool Trial]
  end
end
