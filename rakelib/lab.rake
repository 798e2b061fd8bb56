# frozen_string_literal: true

# Draws pictures of a lab run into tmp/; no picture is committed. Publish only figures from a quiet machine.
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
    mkdir_p "tmp"
    Dir.mktmpdir do |folder|
      page = File.join(folder, "report.html")
      File.write(page, Tiercel::Lab::Report::Html.render(document))
      browser = Browser.start(File.join(folder, "profile"))
      { 1_400 => 900, 400 => 800 }.each do |width, height|
        tab = browser.create_page
        tab.set_viewport(width:, height:)
        tab.go_to("file://#{page}")
        tab.screenshot(path: "tmp/report-#{width}.png")
        puts "tmp/report-#{width}.png"
      end
    ensure
      browser&.quit
    end
  end
end
