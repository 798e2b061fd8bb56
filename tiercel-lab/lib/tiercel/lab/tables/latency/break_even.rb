# frozen_string_literal: true

require_relative "../../report"
require_relative "../../statistics"

module Tiercel
  module Lab
    module Tables
      module Latency
        # From where on compressing, or a tier in between, pays: computed from
        # measured reads over the loopback and of the near backend.
        class BreakEven
          # Payload of a TCP segment over Ethernet, and the segments that a connection may have on the way at its start
          # or after a pause; they double with each round trip (RFC 6928, RFC 5681).
          SEGMENT_BYTES = 1_460
          FIRST_SEGMENTS = 10
          HIT_SHARES = [0.5, 0.8, 0.95].freeze
          CANNOT_TELL = "The interval of what it costs on the loopback has zero in it: more or less than nothing."

          # @param view [View]
          # @param loop_rows [Array<LoopRow>]
          def initialize(view, loop_rows)
            @view = view
            @loop_rows = loop_rows
            @groups = view.cells(operation: "read").group_by { |cell| cell["value"] }
          end

          # @param bytes [Integer] of an answer
          # @return [Integer] round trips until all has been sent
          def self.rounds(bytes)
            rounds, room, window = 0, 0, FIRST_SEGMENTS * SEGMENT_BYTES
            while room < bytes
              room += window
              window *= 2
              rounds += 1
            end
            [rounds, 1].max
          end

          # @param document [Report::Document]
          # @return [void]
          def add_to(document)
            return if @groups.empty?
            document.section("From where on it pays") do |section|
              section.text("Computed, not measured: from reads that were measured over the loopback, interleaved.")
              section.add(measured)
              section.add(compressing)
              section.add(near_tier)
            end
          end

          private

          def measured
            table = Report::Table.new("Latency: the measured parts", header: ["value", "store", "a read", "bytes"],
                                      command: @view.command)
            @groups.each do |value, cells|
              cells.each do |cell|
                table.row(value, name(cell), @view.time(cell), cell.dig("exact", "stored_bytes") || "")
              end
            end
            table
          end

          def name(cell) = cell.dig("contestant", "name")

          def compressing
            table = Report::Table.new("Latency: where compressing pays (computed)", command: @view.command,
                                      header: ["value", "bytes saved", "cost of it a read",
                                               "bandwidth below which it pays", "round trip above which it pays"],
                                      note: "The last column is for a connection that was idle: #{FIRST_SEGMENTS} " \
                                            "segments, doubled with each round trip (RFC 6928). Where both answers " \
                                            "need as many, distance alone never pays for it.")
            @groups.each { |value, cells| table.row(value, *compression(*cells.first(2))) }
            table
          end

          def compression(plain, packed = nil)
            failed = [plain, packed].find { |cell| cell.nil? || !@view.measured?(cell) }
            return [failed ? @view.missing(failed) : "", "", "", ""] if failed || packed.nil?
            before, after = [plain, packed].map { |cell| cell.dig("exact", "stored_bytes") }
            cost = difference(packed, plain)
            [before - after, Report::Cell.interval(cost.map { |ns| ns / 1e3 }, unit: "us"),
             bandwidth(before - after, cost), distance(BreakEven.rounds(before) - BreakEven.rounds(after), cost)]
          end

          # Of two medians' intervals, the farthest apart.
          def difference(one, two)
            mine, theirs = [one, two].map { |cell| @view.interval(cell["summary"]["ns"]) }
            Statistics::Interval.new(mine.estimate - theirs.estimate, mine.low - theirs.high, mine.high - theirs.low)
          end

          # bytes * 8 bits by nanoseconds is Gbit/s.
          def bandwidth(saved, cost)
            return "never: nothing is saved" unless saved.positive?
            return free unless cost.high.positive?
            return cannot_tell unless cost.low.positive?
            Report::Cell.interval(cost.inverse.map { |per_ns| saved * 8e3 * per_ns }, unit: "Mbit/s")
          end

          def distance(rounds, cost)
            return "never by distance alone" unless rounds.positive?
            milliseconds(cost.map { |ns| ns / rounds })
          end

          def milliseconds(nanoseconds)
            return free unless nanoseconds.high.positive?
            return cannot_tell unless nanoseconds.low.positive?
            Report::Cell.interval(nanoseconds.map { |ns| ns / 1e6 }, unit: "ms")
          end

          def free = "any: it pays on the loopback"

          def cannot_tell = Report::Cell.text("cannot tell from here", muted: true, note: CANNOT_TELL)

          def near_tier
            shares = HIT_SHARES.map { |share| "#{(share * 100).round} % hits near" }
            table = Report::Table.new("Latency: the round trip from which a near tier pays (computed)",
                                      command: @view.command,
                                      header: ["value", "near", "far", "least hits on the loopback", *shares],
                                      note: "A read costs near + (1 - hits) x (far + distance) with the tier, far + " \
                                            "distance without: it pays from near / hits - far on.")
            @groups.each { |value, cells| table.row(value, *tier(cells)) }
            table
          end

          def tier(cells)
            far = cells.first
            near = cells.find { |cell| cell.dig("contestant", "medium") == "process" }
            unless near && [near, far].all? { |cell| @view.measured?(cell) }
              return ["", @view.missing(near || far), *[""] * (HIT_SHARES.size + 1)]
            end
            [name(near), name(far), least_hits(near, far), *HIT_SHARES.map { |share| tier_distance(near, far, share) }]
          end

          # With so many hits the tier costs as much as it saves without any distance.
          def least_hits(near, far)
            mine, theirs = [near, far].map { |cell| @view.interval(cell["summary"]["ns"]) }
            shares = Statistics::Interval.new(mine.estimate / theirs.estimate, mine.low / theirs.high,
                                              mine.high / theirs.low)
            Report::Cell.interval(shares.map { |share| share * 100 }, unit: "%")
          end

          def tier_distance(near, far, share)
            mine, theirs = [near, far].map { |cell| @view.interval(cell["summary"]["ns"]) }
            milliseconds(Statistics::Interval.new((mine.estimate / share) - theirs.estimate,
                                                  (mine.low / share) - theirs.high, (mine.high / share) - theirs.low))
          end
        end
      end
    end
  end
end
