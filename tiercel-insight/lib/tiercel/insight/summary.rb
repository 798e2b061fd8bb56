# frozen_string_literal: true

# The output of `bin/rails cache:stats`, `cache:top` and `cache:profile`.
class Tiercel::Insight::Summary
  Text = Tiercel::Insight::Text
  CLEAR = "\e[H\e[2J"
  CLASSES = 15
  # Of the stores' own figures, `cache:stats` prints these with an explanation. --json has all of them.
  EXPLAINED = {
    entries: "entries, with those of tags and counters", bytes: "bytes of these entries",
    size_bytes: "size of the segment's file", dead_bytes: "bytes of overwritten and deleted entries, used again later",
    refused_writes: "writes of values that were too large",
    reappends: "entries that were kept when their turn to leave came",
    ghost_hits: "misses of keys that had left shortly before: more memory would help",
    failures: "calls that failed in this process", memo_hits: "values that needed no decoding in this process",
    used_memory: "bytes of the whole server", maxmemory: "its limit; 0: none", maxmemory_policy: "what it evicts",
    evicted_keys: "since its start", curr_items: "entries", limit_maxbytes: "bytes that the server may use",
    evictions: "since its start", error: "the reason why there are no figures"
  }.freeze

  # @param store [ActiveSupport::Cache::Store]
  # @param figures [Tiercel::Insight::Figures]
  def initialize(store, figures = Tiercel::Insight.figures)
    @store = store
    @figures = figures
  end

  # @return [Hash] for JSON
  def to_h
    { store: @store.class.name, since: @figures.since&.iso8601, processes: @figures.processes, totals: @figures.totals,
      classes: @figures.classes(100), worth: worth_of(worth), audit: @figures.audit, backend: backend }
  end

  # @return [String]
  def to_text = [heading, class_table, worth_text, audit_text, backend_text].compact.join("\n\n")

  # Prints a new screen at each interval until the user interrupts; one screen if the output is not a terminal.
  #
  # @param output [IO]
  # @param seconds [Numeric]
  # @return [void]
  def top(output = $stdout, seconds: 2)
    return output.puts(heading, "", class_table) unless output.tty?
    before = @figures.totals
    loop do
      sleep(seconds)
      @figures = Tiercel::Insight.figures
      now = @figures.totals
      rates = now.map { |name, sum| "#{Text.compact((sum - before[name]) / seconds.to_f)} #{name.to_s.tr("_", " ")}/s" }
      output.print(CLEAR, fitted([heading, "", rates.join(", "), "", class_table].join("\n"), output))
      output.flush
      before = now
    end
  rescue Interrupt
    output.puts
  end

  # A page profile for `bin/lab --profile FILE`.
  #
  # @return [Hash]
  def profile
    totals = @figures.totals
    reads, share, counted = @figures.sample
    sizes = (reads = reads.reject(&:written)).filter_map { |read| read.bytes if read.bytes.is_a?(Integer) }.sort
    { "version" => 1, "store" => @store.class.name, "requests" => totals[:requests],
      "reads_per_request" => per_request(totals[:hits] + totals[:misses]),
      "miss_ratio" => ratio(totals[:misses], totals[:hits] + totals[:misses]), "sampled_share" => share,
      "sampled_reads" => reads.size, "counted_reads" => counted[:reads],
      "miss_ms" => ratio(totals[:block_seconds] * 1_000, totals[:blocks]),
      "writes_per_request" => per_request(totals[:writes]),
      "bytes" => (1..9).to_h { |tenth| ["p#{tenth}0", sizes[sizes.size * tenth / 10]] },
      "round_trip_ms" => round_trip_ms, "worth" => worth_of(worth)[:sizes] }
  end

  # @return [Hash, nil] the store's own figures; nil if it has none or does not answer
  def backend
    @store.stats if @store.respond_to?(:stats)
  rescue StandardError => error
    # Litestack 0.4: the store's `stats` calls a method that its cache does not have.
    return {} if error.is_a?(NoMethodError) && error.name == :stats && @store.class.to_s.end_with?("::Litecache")
    { error: Text.redacted(error.message) }
  end

  private

  def worth = @worth ||= Tiercel::Insight.worth(@store, figures: @figures)

  def worth_of(worth)
    { unknown: worth.unknown, sentences: worth.sentences,
      sizes: worth.sizes.map { |size| size.to_h.transform_values { |number| number.round(5) } },
      classes: worth.classes.first(100).map(&:to_h) }
  end

  # The median time to ask a server for a missing key; nil for a store without a server.
  def round_trip_ms
    remote = @store.respond_to?(:backend) ? @store.backend.remote? : @store.class.name.match?(/Redis|MemCache/)
    return unless remote
    seconds = Tiercel::Insight.uncounted { Tiercel::Insight.median_seconds { @store.exist?("tiercel-insight:none") } }
    (seconds * 1_000).round(3)
  end

  def ratio(part, whole) = whole.positive? ? (part / whole.to_f).round(5) : nil
  def per_request(number) = ratio(number, @figures.totals[:requests])

  def heading
    totals = @figures.totals
    reads = totals[:hits] + totals[:misses]
    return "No process has counted anything yet in #{Tiercel::Insight.folder}." if reads.zero? && totals[:writes].zero?
    hits = reads.zero? ? "" : " (#{Text.percent(totals[:hits].fdiv(reads))} hits)"
    cost = "#{Text.number(totals[:blocks])} misses were computed, in #{Text.seconds(totals[:block_seconds])}"
    requests = totals[:requests]
    requests = requests.zero? ? "" : format(", %.2f ms per request", totals[:block_seconds] * 1_000 / requests)
    "#{Text.number(totals[:hits])} hits, #{Text.number(totals[:misses])} misses#{hits} since " \
      "#{@figures.since&.strftime("%F %T")}, in all processes of this machine. #{cost}#{requests}."
  end

  def class_table
    classes = @figures.classes(CLASSES)
    return if classes.empty?
    rows = classes.map do |one|
      [Text.seconds(one[:seconds]), Text.number(one[:misses]), Text.seconds(one[:seconds] / [one[:misses], 1].max),
       Text.seconds(one[:longest_seconds]), Text.printable(one[:name])]
    end
    "The most expensive misses of the last 12 to 24 hours, by class of key " \
      "(* stands for parts that may be private):\n" \
      "#{table([["cost", "misses", "each", "longest", "class"], *rows])}"
  end

  def worth_text
    lines = worth.unknown ? ["Another size: #{worth.unknown}."] : worth.sentences.map { |text| "- #{text}" }
    lines.unshift("What another size would change (95 % interval):") unless worth.unknown
    useless = worth.classes.select(&:saves_nothing).first(3)
    lines += useless.map do |one|
      room = one.bytes ? Text.bytes(one.bytes) : "#{Text.number(one.entries)} entries"
      "- Class #{Text.printable(one.name)} fills #{room} and saves nothing"
    end
    lines.join("\n")
  end

  def audit_text
    findings = @figures.audit
    return if findings.empty?
    rows = findings.first(CLASSES).map do |one|
      found = "- #{one["status"]}, #{one["count"]} times: #{one["class"]} (#{one["at"]})"
      [found, one["difference"]].compact.join(": ")
    end
    "Values that differ from what their blocks compute now:\n#{rows.map { |row| Text.printable(row) }.join("\n")}"
  end

  def backend_text
    stats = backend
    return unless stats.is_a?(Hash) && stats.any?
    texts = (stats[:tiers] || { nil => stats }).filter_map do |name, figures|
      lines = figures.to_h.filter_map { |key, value| line(key, value) }.presence or next
      ["The store's own figures#{" (#{Text.printable(name.to_s)})" if name}:", *lines].join("\n")
    end
    texts.join("\n").presence
  end

  def line(key, value)
    meaning = EXPLAINED[key.to_sym] or return
    text = key.to_s.end_with?("bytes", "memory") && value.to_s.match?(/\A\d+\z/) ? Text.bytes(value.to_i) : value
    "  #{Text.printable(key.to_s)}: #{Text.printable(text.to_s)}  (#{meaning})"
  end

  # Aligns numbers to the right, and the last column to the left.
  def table(rows)
    widths = rows.transpose.map { |column| column.map(&:length).max }
    rows.map do |row|
      cells = row.each_with_index.map { |cell, at| at == row.size - 1 ? cell : cell.rjust(widths[at]) }
      "  #{cells.join("  ")}"
    end.join("\n")
  end

  # Shortens the text to the terminal's size, so that no line wraps and no screen scrolls.
  def fitted(text, output)
    require "io/console"
    rows, columns = output.winsize
    text.lines(chomp: true).first([rows - 1, 1].max).map { |line| "#{line[0, columns]}\n" }.join
  end
end
