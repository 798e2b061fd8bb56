# frozen_string_literal: true

require_relative "canned"
require "tiercel/lab/cli"

# Results of `lab all`: some complete tables, a failed one, and an interrupted one.
module CannedAll
  Lab = Tiercel::Lab

  module_function

  # @return [Hash{String => Object}]
  def results
    parts = { "compare" => compare, "sizes" => compare("sizes"), "selfcheck" => selfcheck }.map do |name, found|
      { name:, arguments: ["--quick"], state: "complete", code: 0, seconds: 12.5, note: nil, results: found }
    end
    parts << { name: "sqlite", arguments: ["--quick"], state: "failed", code: 2, seconds: 0.4,
               note: "exit code 2; no such gem", results: nil }
    parts << { name: "serializers", arguments: ["--quick"], state: "out of time", code: 130, seconds: 90,
               note: "stopped after 90 s", results: compare("serializers") }
    Canned.results(command: "all", parts:, warnings: ["serializers: Other programs were in the way."])
  end

  def compare(command = "compare")
    contestants = %w[memory_store null_store tiercel:memory:].map { |text| Lab::Contestants.parse(text) }
    comparison = Lab::Engine::Comparison.of(value: Lab::Values.fetch("html-2kb"),
                                            operation: Lab::Operations.fetch("read"),
                                    contestants:, baseline: contestants.first)
    cells = Canned.cells(comparison, "memory_store" => 2_000, "null_store" => 1_000, "tiercel:memory:" => "no such gem")
    Canned.results(command:, cells:, sentence: "A hit costs 2 us.")
  end

  def selfcheck
    rows = { "same" => 1.001, "planted" => 1.05 }.map do |kind, estimate|
      { recording: 0, kind:, verdict: kind == "same" ? "same" : "slower", resampled: [],
        ratio: { estimate:, low: estimate - 0.01, high: estimate + 0.01 } }
    end
    Canned.results(command: "selfcheck", tables: { "selfcheck" => [rows, { threshold: 0.02 }] })
  end
end
