# frozen_string_literal: true

require "tiercel/lab"

# A report with every kind of element, and figures like those of a real run.
module SampleReport
  Report = Tiercel::Lab::Report
  Charts = Report::Charts
  Cell = Report::Cell
  Interval = Tiercel::Lab::Statistics::Interval

  STORES = {
    "shared: frozen" => [0.41, 0.03], "shared:" => [0.58, 0.04], "memory:" => [0.66, 0.05],
    "MemoryStore" => [3.92, 0.2],
    "FileStore on tmpfs" => [24.1, 1.9], "SQLite, WAL" => [18.7, 1.2], "redis-client, hiredis" => [88.3, 6.0],
    "MemCacheStore (dalli 5.0.2)" => [113.4, 9.1], "Solid Cache on PostgreSQL" => [640.0, 88.0],
  }.freeze
  ENVIRONMENT = {
    "Machine" => "2 x AMD EPYC, KVM, 4 GB", "Ruby" => "3.3.8 +YJIT", "Rails" => "8.1.1", "Kernel" => "Linux 6.18",
    "Date" => "2026-11-20 18:05 UTC", "Revision" => "`f975366`", "Seed" => "1", "Time" => "2 min 41 s",
  }.freeze
  WARNINGS = ["Steal was 4.1 % during 3 of 40 blocks.", "YJIT compiled inside 1 block of `memory:`."].freeze

  module_function

  def document
    document = Report::Document.new(
      title: "Nine cache stores, one 1 KB string",
      subtitle: "Cost of a read, a write and a fetch, with what they are made of",
      command: "bin/lab all --quick --html report.html", environment: ENVIRONMENT,
      data: { schema: "tiercel-lab/1", text: "</script><b>no</b>" }
    )
    document.verdict("A hit costs 0.58 us [0.54\u20130.62]: 6.8x MemoryStore, 195x memcached here.",
                     tone: :faster, warnings: WARNINGS)
    reads(document)
    document.section("Distance, size and load") { |section| section.add(latency) }
    capabilities(document)
    document
  end

  def around(estimate, spread) = Interval.new(estimate, estimate - spread, estimate + (spread * 1.2))

  def reads(document)
    document.section("Reads") do |section|
      section.text("One process, keys equal but not identical, values verified outside of the timed part. " \
                   "`fast_path` is on.")
      section.add(forest).add(reads_table)
      section.code(%(config.cache_store = :tiercel_store, "shared:", { size: "1GB" }),
                   title: "To paste into config/environments/production.rb")
    end
  end

  def forest
    plot = Charts::ForestPlot.new("Time of a read against MemoryStore", baseline: "MemoryStore",
                                  margin: Interval.new(1.0, 0.976, 1.025),
                                  command: "bin/lab compare MemoryStore shared: memory:")
    plot.row("shared: frozen", Interval.new(0.105, 0.098, 0.113), :faster)
    plot.row("shared:", Interval.new(0.148, 0.139, 0.157), :faster)
    plot.row("memory:", Interval.new(0.168, 0.160, 0.179), :faster)
    plot.row("MemoryStore, second arm", Interval.new(1.003, 0.991, 1.012), :same)
    plot.row("MemoryStore, Ruby 3.4", Interval.new(0.97, 0.86, 1.11), :cannot_tell)
    plot.row("MemoryStore with subscriber", Interval.new(1.31, 1.26, 1.38), :slower)
  end

  def reads_table
    table = Report::Table.new("Reads of 1 KB", header: ["store", "hit, us", "miss, us", "objects", "GC, us", "verdict"],
                              command: "bin/lab compare shared: memory: MemoryStore --operation read",
                              note: "Median of log ratios, 8 processes x 10 blocks. Grey: this run cannot tell.",
                              floor: "1.2 %")
    STORES.each do |name, (estimate, spread)|
      table.row(*reads_row(name, estimate, spread))
    end
    table.row("Litecache", Cell.missing("needs sqlite3 1.x", remedy: "bin/setup bundles"), nil, nil, nil, nil)
  end

  def reads_row(name, estimate, spread)
    unsure = name.start_with?("Solid")
    note = "Request-local cache off." if estimate > 80
    word = { "MemoryStore" => :same }.fetch(name) { estimate < 3 ? :faster : :slower }
    verdict = unsure ? :cannot_tell : word
    [name, Cell.interval(around(estimate, spread), muted: unsure), estimate * 0.8, (estimate / 3).round + 1,
     Cell.number(estimate * 0.07, note:), verdict]
  end

  def latency
    trips = [0.08, 0.25, 0.5, 1, 5, 20]
    chart = Charts::LineChart.new("Latency by round trip", x: "measured round trip, ms", y: "us for a fetch",
                                  x_scale: :log, y_scale: :log)
    with_bounds = trips.map { |trip| [trip, *[75, 61, 96].map { |more| (trip * 1_000) + more }] }
    chart.series("memcached, LZ4", with_bounds)
    chart.series("memcached, none", trips.map { |trip| [trip, (trip * 1_300) + 40] })
    chart.series("shared: in front", trips.map { |trip| [trip, 0.7 + (trip * 52)] })
    chart.series("file on NFS (computed)", trips.map { |trip| [trip, (trip * 2_100) + 30] })
    chart.mark(2.0, "LZ4 pays from 2 ms")
  end

  def capabilities(document)
    header = ["store", "serializes", "compression", "cross process", "remote", "limit"]
    document.section("Capabilities") do |section|
      section.table("What each store can do", header:, command: "bin/lab capabilities") do |table|
        copies = Cell.mark(:partly, note: "Copies by Marshal, unless `coder: nil`.")
        shares = Cell.mark(:partly, note: "Over NFS, without locks.")
        table.row("shared:", true, true, true, false, "memory")
        table.row("MemoryStore", copies, true, false, false, "memory")
        table.row("FileStore", true, true, true, shares, "disk")
        table.row("MemCacheStore | dalli", true, true, true, true, "memory")
      end
    end
  end
end
