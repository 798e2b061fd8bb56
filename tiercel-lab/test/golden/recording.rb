# frozen_string_literal: true

require "digest"
require "json"
require "stringio"
require "tiercel/lab/cli"
require_relative "../../musts/choice"

# A recorded run. `recordings/` contains its results (NAME.json), its output (NAME.txt), and its exit code with digests
# of its other renderings (renderings.json).
class Recording
  Lab = Tiercel::Lab
  FOLDER = File.expand_path("recordings", __dir__)
  RENDERINGS = File.join(FOLDER, "renderings.json")
  PROGRAM = "bin/lab"
  LAST_LINE = "Every block of this run: "
  # Facts of the recording machine that no report shows.
  UNSEEN = %w[gems load_average].freeze

  class << self
    # @return [Array<Recording>]
    def all = Dir[File.join(FOLDER, "*.json")].sort.grep_v(RENDERINGS).map { |path| new(File.basename(path, ".json")) }

    # @return [Hash{String => Hash}] by name
    def renderings = File.file?(RENDERINGS) ? JSON.parse(File.read(RENDERINGS)) : {}

    # @param recordings [Array<Recording>] whose present renderings replace the recorded ones
    def keep(recordings)
      found = renderings.merge(recordings.to_h { |recording| [recording.name, recording.renderings] })
      File.write(RENDERINGS, "#{JSON.pretty_generate(found.sort.to_h)}\n")
    end
  end

  # @return [String]
  attr_reader :name

  def initialize(name)
    @name = name
  end

  def path = File.join(FOLDER, "#{name}.json")

  def printed_path = File.join(FOLDER, "#{name}.txt")

  # @return [Hash{String => Object}]
  def results = Lab::Engine::Results.load(path)

  # @return [String] the run's output, without the path of its file
  def printed = File.read(printed_path)

  # @return [String] the output of `report`
  def rendered = report.sub("#{LAST_LINE}#{path}", LAST_LINE.strip)

  # @return [Hash{String => Object}] exit code, and digests of long renderings
  def renderings
    document = Lab::CLI.document(results, program: PROGRAM)
    { "exit_code" => exit_code,
      **{ "markdown" => Lab::Report::Markdown, "csv" => Lab::Report::Csv, "html" => Lab::Report::Html }
        .transform_values { |renderer| Digest::SHA256.hexdigest(renderer.render(document)) } }
  end

  # @param results [Hash{String => Object}] results of a run
  # @param printed [String] its output
  # @param folder [String] folder of the results; the recording calls it "results"
  def write(results, printed:, folder:)
    [results, *results["parts"].to_a.filter_map { |part| part["results"] }].each do |run|
      run["environment"] = run["environment"].except(*UNSEEN)
    end
    File.write(path, "#{JSON.generate(results).gsub(folder, "results")}\n")
    File.write(printed_path, printed.sub(/^#{LAST_LINE}.*$/, LAST_LINE.strip).gsub(folder, "results"))
  end

  private

  def report
    out = StringIO.new
    Lab::CLI.run(["report", path], out:, err: $stderr, program: PROGRAM)
    out.string
  end

  def exit_code = Lab::CLI.exit_code(results)
end
