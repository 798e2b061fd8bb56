# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Latency
        # Computes where compression, or a near tier, starts to pay. The inputs are measured reads over the loopback and
        # of the near backend.
        class BreakEven
          # The payload of a TCP segment over Ethernet, and the initial congestion window. The window doubles with each
          # round trip (RFC 6928, RFC 5681).
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

          # @param bytes [Integer] size of an answer in bytes
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
            @view.columns_table("Latency: the measured parts", @groups.values.flatten(1),
                                { "value" => "value", "store" => :name, "a read" => :time, "bytes" => :bytes })
          end

          def name(cell) = @view.name(cell)

          def compressing
            header = ["value", "bytes saved", "cost of it a read", "bandwidth below which it pays",
                      "round trip above which it pays"]
            note = "The last column is for a connection that was idle: #{FIRST_SEGMENTS} segments, doubled with each " \
                   "round trip (RFC 6928). Where both answers need as many, distance alone never pays for it."
            Report::Table.new("Latency: where compressing pays (computed)", header:, note:,
                              rows: @groups.map { |value, cells| [value, *compression(*cells.first(2))] })
          end

          def compression(plain, packed = nil)
            failed = [plain, packed].find { |cell| cell.nil? || !@view.measured?(cell) }
            return [failed ? @view.missing(failed) : "", "", "", ""] if failed || packed.nil?
            before, after = [plain, packed].map { |cell| cell.dig("exact", "stored_bytes") }
            cost = difference(*times(packed, plain))
            [before - after, @view.figure(cost.map { |ns| ns / 1e3 }, "us"),
             bandwidth(before - after, cost), distance(BreakEven.rounds(before) - BreakEven.rounds(after), cost)]
          end

          # @return [Array(Statistics::Interval, Statistics::Interval)] intervals of their medians, in ns
          def times(*cells) = cells.map { |cell| @view.interval(cell["summary"]["ns"]) }

          # Subtracts two intervals, with the bounds farthest apart.
          def difference(mine, theirs)
            Statistics::Interval.new(mine.estimate - theirs.estimate, mine.low - theirs.high, mine.high - theirs.low)
          end

          # bytes * 8 bits by nanoseconds is Gbit/s.
          def bandwidth(saved, cost)
            return "never: nothing is saved" unless saved.positive?
            return free unless cost.high.positive?
            return cannot_tell unless cost.low.positive?
            @view.figure(cost.inverse.map { |per_ns| saved * 8e3 * per_ns }, "Mbit/s")
          end

          def distance(rounds, cost)
            return "never by distance alone" unless rounds.positive?
            milliseconds(cost.map { |ns| ns / rounds })
          end

          def milliseconds(nanoseconds)
            return free unless nanoseconds.high.positive?
            return cannot_tell unless nanoseconds.low.positive?
            @view.figure(nanoseconds.map { |ns| ns / 1e6 }, "ms")
          end

          def free = "any: it pays on the loopback"

          def cannot_tell = Report::Cell.text("cannot tell from here", muted: true, note: CANNOT_TELL)

          def near_tier
            header = ["value", "near", "far", "least hits on the loopback",
                      *HIT_SHARES.map { |share| "#{(share * 100).round} % hits near" }]
            note = "A read costs near + (1 - hits) x (far + distance) with the tier, far + distance without: it pays " \
                   "from near / hits - far on."
            Report::Table.new("Latency: the round trip from which a near tier pays (computed)", header:, note:,
                              rows: @groups.map { |value, cells| [value, *tier(cells)] })
          end

          def tier(cells)
            far = cells.first
            near = cells.find { |cell| cell.dig("contestant", "medium") == "process" }
            unless near && [near, far].all? { |cell| @view.measured?(cell) }
              return ["", @view.missing(near || far), *[""] * (HIT_SHARES.size + 1)]
            end
            [name(near), name(far), least_hits(near, far), *HIT_SHARES.map { |share| tier_distance(near, far, share) }]
          end

          # The share of hits at which the tier costs as much as it saves, without any distance.
          def least_hits(near, far)
            mine, theirs = times(near, far)
            @view.figure(mine.over(theirs).map { |share| share * 100 }, "%")
          end

          def tier_distance(near, far, share)
            mine, theirs = times(near, far)
            milliseconds(difference(mine.map { |ns| ns / share }, theirs))
          end
        end
      end
    end
  end
end
