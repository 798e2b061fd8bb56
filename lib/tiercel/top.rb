# frozen_string_literal: true

require_relative "clock"

module Tiercel
  # The live view of `bin/rails tiercel:top`: the cache's rates, tier by tier, and the key classes whose misses cost
  # most in the last hour.
  #
  #   Tiercel::Top.new(Rails.cache.account).to_text
  class Top
    # The counters whose rates are shown, and their headings.
    RATES = { hits: "hits/s", misses: "misses/s", blocks: "blocks/s", block_seconds: "block s/s",
              lease_waits: "waits/s", stale_hits: "stale/s", writes: "writes/s", evictions: "evicted/s",
              failures: "failed/s" }.freeze
    TIER_RATES = { hits: "hits/s", misses: "misses/s", writes: "writes/s", deletes: "deletes/s",
                   evictions: "evicted/s" }.freeze
    CLASS_COLUMNS = ["block s", "misses", "ms/miss", "longest ms", "class"].freeze
    NAMES = %w[tier class].freeze
    # Control characters, and characters that change the text direction or break a line.
    UNPRINTABLE = /[^[:print:]]|[\p{Cf}\p{Zl}\p{Zp}]/
    CLEAR = "\e[H\e[2J"
    private_constant :RATES, :TIER_RATES, :CLASS_COLUMNS, :NAMES, :UNPRINTABLE, :CLEAR

    # @param account [Account]
    # @param period [Symbol] the period of the key classes, :hour or :day
    # @param classes [Integer] how many classes are shown
    def initialize(account, period: :hour, classes: 20)
      @account = account
      @period = period
      @limit = classes
      @before = nil
    end

    # @return [Hash{Symbol => Object}] the totals, the last minute, and the key classes
    def to_h
      { totals: @account.totals, last_minute: @account.minutes(1).first, period: @period,
        classes: @account.classes(@period, limit: @limit) }
    end

    # Renders one screen. The rates cover the time since the previous call; the first call covers the current and the
    # previous minute.
    #
    # @return [String] lines of printable characters
    def to_text
      totals = @account.totals
      rates, tiers = rates_of(totals)
      [*heading(totals), "", *table([RATES.values, RATES.keys.map { |name| number(rates[name]) }]), "",
       *table([["tier", *TIER_RATES.values], *tiers.map { |tier, figures| tier_row(tier, figures) }]), "",
       "Classes of keys by the cost of their misses in the last #{@period}:", *class_table]
        .map { |line| "#{line}\n" }.join
    end

    # Prints a new screen at each interval until the user interrupts. Prints only one screen if the output is not a
    # terminal.
    #
    # @param output [IO]
    # @param interval_seconds [Numeric]
    # @return [void]
    def run(output = $stdout, interval_seconds: 2)
      return output.print(to_text) unless output.tty?
      loop do
        output.print(CLEAR, fitted(to_text, output))
        output.flush
        sleep(interval_seconds)
      end
    rescue Interrupt
      output.puts
    end

    private

    def heading(totals)
      reads = totals[:hits] + totals[:misses]
      whose = totals[:scope] == :machine ? "all processes" : "this process only"
      ["#{printable(totals[:host])}, #{whose}, since #{Time.at(totals[:since]).strftime("%F %T")}",
       "#{totals[:hits]} hits, #{totals[:misses]} misses" \
       "#{format(" (%.1f %% hits)", 100.0 * totals[:hits] / reads) if reads.positive?}, " \
       "#{format("%.1f", totals[:block_seconds])} s in blocks"]
    end

    def rates_of(totals)
      now = Clock.monotonic
      then_, before = @before || [now - 60 - (Clock.now % 60), earlier(totals)]
      @before = [now, totals]
      seconds = [now - then_, 0.001].max
      tiers = totals[:tiers].to_h { |tier, figures| [tier, rates(figures, before[:tiers][tier], TIER_RATES, seconds)] }
      [rates(totals, before, RATES, seconds), tiers]
    end

    # The totals at the beginning of the previous minute.
    def earlier(totals)
      minutes = @account.minutes(2)
      tiers = totals[:tiers].to_h { |tier, all| [tier, less(all, minutes.map { |minute| minute[:tiers][tier] })] }
      less(totals.slice(*RATES.keys), minutes).merge(tiers:)
    end

    def less(all, parts) = all.to_h { |name, figure| [name, figure - parts.sum { |part| part[name] }] }

    def rates(now, before, names, seconds)
      names.keys.to_h { |name| [name, [(now[name] - before[name]) / seconds.to_f, 0.0].max] }
    end

    def tier_row(tier, figures) = [printable(tier), *TIER_RATES.keys.map { |name| number(figures[name]) }]

    def class_table
      costs = @account.classes(@period, limit: @limit)
      return ["none yet"] if costs.empty?
      table([CLASS_COLUMNS, *costs.map { |cost| class_row(cost) }])
    end

    def class_row(cost)
      each = cost[:misses].zero? ? 0.0 : 1_000 * cost[:seconds] / cost[:misses]
      [format("%.3f", cost[:seconds]), cost[:misses].to_s, format("%.2f", each),
       format("%.2f", 1_000 * cost[:longest_seconds]), printable(cost[:name])]
    end

    # Aligns numbers to the right, and the column of names (first or last) to the left.
    def table(rows)
      widths = rows.transpose.map { |column| column.map(&:length).max }
      rows.map do |row|
        cells = row.zip(widths, rows.first).map do |cell, width, head|
          NAMES.include?(head) ? cell.ljust(width) : cell.rjust(width)
        end
        cells.join("  ").rstrip
      end
    end

    def number(rate) = rate.zero? ? "0" : format(rate < 10 ? "%.2f" : "%.0f", rate)

    # Shortens the text to the terminal's size, so that no line wraps and no screen scrolls.
    def fitted(text, output)
      require "io/console"
      rows, columns = output.winsize
      text.lines(chomp: true).first([rows - 1, 1].max).map { |line| "#{line[0, columns]}\n" }.join
    rescue SystemCallError
      text
    end

    def printable(text)
      text.dup.force_encoding(Encoding::UTF_8).scrub("?").gsub(UNPRINTABLE, "?")
    end
  end
end
