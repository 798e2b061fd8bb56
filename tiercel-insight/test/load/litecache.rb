# frozen_string_literal: true

# Litecache works with sqlite3 1.x only, so it has a bundle of its own, without Rails' controllers. Two processes call
# it.
require "json"
require "tmpdir"
require "active_support/all"
require "litestack"
require "active_support/cache/litecache"
require "tiercel/insight"

Dir.mktmpdir do |folder|
  build = -> { ActiveSupport::Cache::Litecache.new(path: "#{folder}/cache.sqlite3", metrics: false) }
  workers = Array.new(2) do |worker|
    fork do
      store = build.call
      Tiercel::Insight.start(store, folder: "#{folder}/insight")
      100.times do |id|
        2.times { store.fetch("user:#{worker}x#{id}@example.com:inbox") { id } }
        store.read("absent/#{id}")
        store.write("written/#{worker}", id)
        store.delete("written/#{worker}")
      end
      Tiercel::Insight.collector.flush
      exit!(0)
    end
  end
  workers.each { |pid| Process.wait(pid) }
  figures = Tiercel::Insight::Figures.new("#{folder}/insight")
  files = Dir["#{folder}/insight/*"].map { |path| File.binread(path) }
  puts JSON.generate(store: "Litecache", totals: figures.totals, account: { r: 600, b: 200, w: 400, d: 200 },
                     classes: figures.classes.sum { |one| one[:misses] },
                     backend: Tiercel::Insight::Summary.new(build.call).backend,
                     limit: Tiercel::Insight::Capacity.of(build.call).limit_bytes,
                     secrets: files.count { |text| text.include?("@example.com") })
end
