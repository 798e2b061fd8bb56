# frozen_string_literal: true

require "fileutils"
require_relative "../../engine"
require_relative "../../network"
require_relative "design"
require_relative "machine"
require_relative "mix"

module Tiercel
  module Lab
    module Tables
      module Tiers
        # Measures a {Design}: for each stack a reading process at each distance, then two machines.
        class Trial < Engine::Trial
          # Seconds from an order to the moment at which all begin.
          LEAD_SECONDS = 0.3
          CAPACITY_BYTES = 64 * 1024 * 1024
          ALONE_CALLS = 50

          # @return [Array<Hash{String => Object}>] how long changes took to be seen, and how many were heard of
          attr_reader :staleness, :bursts

          # Processes are where the kernel puts them, as an application's are.
          def initialize(design, **)
            super(pinning: Engine::Pinning.new(cpus: []), **)
            @design = design
            @staleness = []
            @bursts = []
          end

          private

          def measure
            @design.stacks.each_with_index do |stack, index|
              @stack = stack
              @label = format("%d-%02d", Process.pid, index)
              @design.round_trips(stack).each { |round_trip_ms| mix(round_trip_ms) }
              @progress.advance(@design.mix_seconds(stack), "#{stack.name}: shares")
              machines
              @progress.advance(@design.machines_seconds(stack), "#{stack.name}: machines")
            end
          end

          def server_facts = @pool.facts(@stack.servers)

          def context = { servers: server_facts, folders: @scratch.folders, capacity_bytes: CAPACITY_BYTES }

          # --- what a read costs ---

          def mix(round_trip_ms)
            row = blank(store: @stack.name, round_trip_ms:, measured_ms: nil, shares: {}, alone: [])
            rows << row
            at_distance(round_trip_ms) { |facts, place| read(row, round_trip_ms, { **context, **facts }, place) }
          rescue CannotRun, WorkerLost, Servers::Error, IO::TimeoutError => e
            note(row, Engine::Outcome.of { raise e })
          end

          # @yieldparam facts [Hash] of the servers, as seen through the proxy
          # @yieldparam place [Array, nil] of the proxy, and a question
          def at_distance(round_trip_ms)
            name = @stack.server or return yield({}, nil)
            facts = server_facts.fetch(name.to_s)
            raise CannotRun, facts["error"] if facts["error"]
            host, port = facts["url"][%r{//(?:[^@/]*@)?([^/]+)}, 1].split(":")
            Network::Proxy.run([host, Integer(port)], delay: round_trip_ms / 1e3) do |proxy|
              far = facts.transform_values { |fact| fact.to_s.sub("#{host}:#{port}", proxy.address) }
              yield({ servers: { name.to_s => far } }, [Network::Proxy::HOST, proxy.port, Stack::SERVERS.fetch(name)])
            end
          end

          def read(row, round_trip_ms, context, place)
            label = "#{@label}-#{rows.size}"
            reader = job("tables/tiers/mix")
            last = file(label)
            opened = reader.call("open", text: @stack.long(last), far: @stack.last(last), label:, context:, place:,
                                         seed: @seed, names: @design.far_names(round_trip_ms))
            row["measured_ms"] = opened["round_trip_ms"]
            measured?(opened) ? slices(row, reader, round_trip_ms) : note(row, opened)
            reader.call("close")
          ensure
            reader&.stop
            remove_file(label)
          end

          # The first of each share is not kept: the way to the server has to be open, code compiled.
          def slices(row, reader, round_trip_ms)
            (0..@design.repeats).each do |repeat|
              [:alone, *@design.shares].shuffle(random: Random.new(@seed + repeat)).each do |share|
                figure = slice(reader, share, round_trip_ms)
                return note(row, figure) unless measured?(figure)
                next if repeat.zero?
                kept = share == :alone ? row["alone"] : (row["shares"][share.to_s] ||= [])
                kept << figure["us"].round(3)
              end
            end
          end

          def slice(reader, share, round_trip_ms)
            return reader.call("alone", calls: [ALONE_CALLS, @design.calls(0.0, round_trip_ms)].min) if share == :alone
            reader.call("run", calls: @design.calls(share, round_trip_ms),
                               near: @design.near_calls(share, round_trip_ms))
          end

          # A file that several stores have as their last tier.
          def file(label)
            folder = File.join(@scratch.folders.fetch("disk"), "tiers-#{label}")
            place = @stack.file_in(folder) or return
            FileUtils.mkdir_p(folder)
            place
          end

          def remove_file(label) = FileUtils.rm_rf(File.join(@scratch.folders.fetch("disk"), "tiers-#{label}"))

          # --- what another machine sees ---

          def machines
            text = @stack.with(file("#{@label}-m"))
            conditions = @design.conditions(@stack).map { |condition| [text, @stack.name, *condition] }
            conditions << [@stack.last(file("#{@label}-m")), "#{@stack.name}, last tier alone", 0, false]
            conditions.each_with_index { |condition, index| stale(index, *condition) }
            burst
          ensure
            remove_file("#{@label}-m")
          end

          def stale(index, text, store, busy, company)
            others = busy.positive? && @stack.shares_news? ? [@stack.deaf, *(text if company)] : []
            row = blank(store:, busy:, company:, looked_beside: others.any?, seen_ms: [], deleted_ms: [], unseen: 0,
                        looks_ms: [], changes: @design.changes)
            staleness << row
            between(row, "#{@label}-s#{index}", text, @design.changes, others:) do |writer, reader, beside|
              reader.call("compute", threads: busy) if busy.positive?
              watched(row, writer, beside || reader)
            end
          end

          # Who looks may be another process of the machine: one that computes looks when it gets its turn.
          def watched(row, writer, looker)
            at = soon
            looker.send_call("watch", names: @design.changes, at:, seconds: @design.watch_seconds(@stack, row["busy"]))
            writer.send_call("change", names: @design.changes, at:, gap_ms: @design.gap_ms, seed: @seed)
            note_ages(row, *[writer, looker].map(&:value))
          end

          def note_ages(row, changed, seen)
            [changed, seen].each { |outcome| note(row, outcome) }
            return unless measured?(row)
            ages = changed["returned"].zip(seen["seen"]).map { |from, to| to && [(to - from) * 1e3, 0.0].max.round(3) }
            written, deleted = ages.partition.with_index { |_age, index| index.even? }
            row.update("seen_ms" => written.compact, "deleted_ms" => deleted.compact, "unseen" => ages.count(nil),
                       "looks_ms" => seen["looks_ms"])
          end

          def burst
            row = blank(store: @stack.name, writes: @design.burst, writes_a_second: nil, heard: nil,
                        heard_a_second: nil, within_seconds: @stack.patience_seconds)
            bursts << row
            between(row, "#{@label}-b", @stack.long(file("#{@label}-m")), @design.burst) do |writer, reader|
              at = soon
              reader.send_call("hear", names: @design.burst, at:, seconds: burst_seconds)
              writer.send_call("burst", names: @design.burst, at:)
              note_burst(row, *[writer, reader].map(&:value))
            end
          end

          def burst_seconds = (@design.burst / 5_000.0) + @stack.patience_seconds

          def note_burst(row, written, heard)
            [written, heard].each { |outcome| note(row, outcome) }
            return unless measured?(row)
            from, to = written.values_at("from", "to")
            row.update("writes_a_second" => (@design.burst / (to - from)).round, "heard" => heard["heard"])
            row["heard_a_second"] = (heard["heard"] / (heard["last"] - from)).round if heard["heard"].positive?
          end

          def soon = Process.clock_gettime(Process::CLOCK_MONOTONIC) + LEAD_SECONDS

          # Two machines, of which the second has copies of all names.
          #
          # @param others [Array<String>] contestants of more processes of the second
          def between(row, label, text, names, others: [])
            machines = Array.new(2 + others.size) { job("tables/tiers/machine") }
            writer, reader = machines
            steps = machines.zip([text, text, *others], [0]).map do |machine, store, index|
              opened(machine, label, store, index || 1)
            end
            steps << writer.call("write", names:) if steps.all? { |step| measured?(step) }
            steps << reader.call("warm", names:) if steps.all? { |step| measured?(step) }
            steps.each { |step| note(row, step) }
            return unless measured?(row)
            yield machines
          rescue CannotRun, WorkerLost => e
            note(row, Engine::Outcome.of { raise e })
          ensure
            machines&.each { |machine| leave(machine, names) }
          end

          def opened(machine, label, text, index)
            machine.call("open", text:, label:, machine: "#{label}-#{index}", context: { **context, shared: true })
          end

          def leave(machine, names)
            machine.call("close", names:)
          rescue WorkerLost
            nil # its keys are in a place of the lab's
          ensure
            machine.stop
          end
        end
      end
    end
  end
end
