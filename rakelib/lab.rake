# frozen_string_literal: true

# Creates the pictures and the tables of a run in docs/ from runs of the lab. Publish only figures from a quiet machine:
#
#   bin/lab all --results results && bin/exec rake "lab:results[results/KEPT.jsonl]" "lab:pictures[results/KEPT.jsonl]"
namespace :lab do
  desc "Draw a report's first screen at 1,400 and 400 px (needs Chromium): rake lab:pictures[RESULTS]"
  task :pictures, [:results] do |_task, arguments|
    $LOAD_PATH.unshift(File.expand_path("lib"), File.expand_path("tiercel-lab/lib"))
    require "tmpdir"
    require "tiercel/lab/cli"
    require_relative "../tiercel-lab/test/support/browser"
    abort "no Chromium on the PATH: bin/setup installs it" unless Browser.program
    kept = arguments[:results] || "tiercel-lab/test/golden/recordings/compare.json"
    document = Tiercel::Lab::CLI.document(Tiercel::Lab::Engine::Results.load(kept), program: "bin/lab")
    Dir.mktmpdir do |folder|
      page = File.join(folder, "report.html")
      File.write(page, Tiercel::Lab::Report::Html.render(document))
      browser = Browser.start(File.join(folder, "profile"))
      { 1_400 => 900, 400 => 800 }.each do |width, height|
        tab = browser.create_page
        tab.set_viewport(width:, height:)
        tab.go_to("file://#{page}")
        tab.screenshot(path: "docs/report-#{width}.png")
        puts "docs/report-#{width}.png"
      end
    ensure
      browser&.quit
    end
  end

  desc "Fill docs/results.md from a kept run of `bin/lab all`: rake lab:results[RESULTS]"
  task :results, [:results] do |_task, arguments|
    $LOAD_PATH.unshift(File.expand_path("lib"), File.expand_path("tiercel-lab/lib"))
    require_relative "../tiercel-lab/musts/results_page"
    kept = arguments[:results] or abort "rake lab:results[RESULTS]: expected a kept run of `bin/lab all`"
    puts Tiercel::Lab::Tables::Musts::ResultsPage.new(Tiercel::Lab::Engine::Results.load(kept)).write("docs")
  rescue Tiercel::Lab::UsageError => e
    abort "rake lab:results: #{e.message}"
  end

  desc "Compare the verdicts of `all --quick` with those of a full run: rake lab:agreement[FULL,QUICK]"
  task :agreement, [:full, :quick] do |_task, arguments|
    $LOAD_PATH.unshift(File.expand_path("lib"), File.expand_path("tiercel-lab/lib"))
    require "tiercel/lab/cli"
    require_relative "../tiercel-lab/musts/agreement"
    abort "rake lab:agreement[FULL,QUICK]: expected two kept runs of `bin/lab all`" unless arguments[:quick]
    runs = arguments.to_h.values_at(:full, :quick).map { |file| Tiercel::Lab::Engine::Results.load(file) }
    agreement = Tiercel::Lab::Tables::Musts::Agreement.new(*runs)
    puts agreement.lines
    exit 1 unless agreement.holds?
  end
end
