# frozen_string_literal: true

# Creates screenshots and timings of Tiercel::Web for docs/.
namespace :web do
  desc "Time the pages over a million entries and 1,000 classes: rake web:time[ENTRIES]"
  task :time, [:entries] do |_task, arguments|
    $LOAD_PATH.unshift(File.expand_path("lib"), File.expand_path("test"))
    require "support/timed_pages"
    TimedPages.print(Integer(arguments[:entries] || 1_000_000))
  end

  desc "Draw the page's pictures for docs/observability.md (needs Chromium): rake web:pictures"
  task :pictures do
    $LOAD_PATH.unshift(File.expand_path("lib"), File.expand_path("test"))
    require "tmpdir"
    require "tiercel"
    require "support/sample_day"
    require_relative "../tiercel-lab/test/support/browser"
    abort "no Chromium on the PATH: bin/setup installs it" unless Browser.program
    Dir.mktmpdir do |folder|
      SampleDay.serve(folder) do |address, web|
        browser = Browser.start(File.join(folder, "profile"))
        [["web-1400", 1_400, 1_330, "light"], ["web-400", 400, 900, "light"],
         ["web-dark-1400", 1_400, 1_440, "dark"]].each do |name, width, height, scheme|
          SampleDay.plant_finding(web) if scheme == "dark"
          page = Browser.open_page(browser, "#{address}/?period=day", scheme, width)
          page.set_viewport(width:, height:)
          page.screenshot(path: "docs/#{name}.png")
          puts "docs/#{name}.png"
        end
      ensure
        browser&.quit
      end
    end
  end
end
