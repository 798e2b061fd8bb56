# frozen_string_literal: true

require_relative "../../network"

module Tiercel
  module Lab
    module Tables
      module Tiers
        # Measures a {Design}: each stack has a reading process at each distance, then two machines.
        class Trial < Load::Trial
          # Seconds from the command to the moment at which all processes begin.
          LEAD_SECONDS = 0.3
          CAPACITY_BYTES = 64 * 1024 * 1024
          ALONE_CALLS = 50
          VALUE_BYTES = 1_024
          # The two stores of the process that reads.
          STACK = "stack"
          LAST = "last"

          # @return [Array<Hash{String => Object}>] rows of the ages of changes, and of the bursts
          attr_reader :staleness, :bursts

          def initialize(...)
            super
            @staleness, @bursts = [], []
          end

          private

          def measure
            @design.stacks.each_with_index do |stack, index|
              @stack = stack
              @label = label(index)
              @design.round_trips(stack).each { |round_trip_ms| mix(round_trip_ms) }
              @progress.advance(@design.mix_seconds(stack), "#{stack.name}: shares")
              machines
            end
          end

          def server_facts = @pool.facts(@stack.servers)

          def context = { servers: server_facts, folders: @scratch.folders, capacity_bytes: CAPACITY_BYTES }

          # --- the cost of a read ---

          def mix(round_trip_ms)
            row = blank(store: @stack.name, round_trip_ms:, measured_ms: nil, shares: {}, alone: [])
            rows << row
            note(row, attempt do
              at_distance(round_trip_ms) { |facts, place| read(row, round_trip_ms, { **context, **facts }, place) }
              {}
            end)
          end

          # @yieldparam facts [Hash] facts of the servers, as seen through the proxy
          # @yieldparam place [Array, nil] address of the proxy, and a request
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
            with_fleet(1, path: "tables/tiers/mix") do |fleet|
              open(fleet, label, round_trip_ms, context)
              row["measured_ms"] = place && measured_ms(fleet.jobs.first, *place)
              slices(row, fleet, round_trip_ms)
              [STACK, LAST].each { |id| fleet.call("verify", id:, sample: Load::Keys::NEAR) }
            end
          ensure
            remove_file(label)
          end

          def open(fleet, label, round_trip_ms, context)
            last = file(label)
            entries = { label:, bytes: VALUE_BYTES, seed: @seed,
                        items: Load::Keys::NEAR + @design.far_names(round_trip_ms) }
            { STACK => @stack.long(last), LAST => @stack.last(last) }.each do |id, text|
              fleet.call("open", id:, text:, entries:, keys: { kind: "near and new", seed: @seed },
                                 context: { **context, label: "#{label}-#{id}" })
            end
            fleet.call("fill", stack: STACK, last: LAST)
          end

          def measured_ms(job, host, port, request)
            (job.call("round_trip", host:, port:, request:, samples: 20) * 1e3).round(3)
          end

          # Drops the first slice of each share, which opens the connection and compiles code.
          def slices(row, fleet, round_trip_ms)
            (0..@design.repeats).each do |repeat|
              [:alone, *@design.shares].shuffle(random: Random.new(@seed + repeat)).each do |share|
                us = slice(fleet, share, round_trip_ms)
                next if repeat.zero?
                kept = share == :alone ? row["alone"] : (row["shares"][share.to_s] ||= [])
                kept << us.round(3)
              end
            end
          end

          # @return [Float] us a read
          def slice(fleet, share, round_trip_ms)
            id, requests, near =
              if share == :alone then [LAST, [ALONE_CALLS, @design.calls(0.0, round_trip_ms)].min]
              else [STACK, @design.calls(share, round_trip_ms), @design.near_calls(share, round_trip_ms)]
              end
            fleet.call("drive", id:, operation: "read", arrivals: { requests: }, near:)
                 .sum { |answer| answer["seconds"] / answer["requests"] * 1e6 }
          end

          # The file of a last tier that several stores share.
          def file(label)
            folder = File.join(@scratch.folders.fetch("disk"), "tiers-#{label}")
            place = @stack.file_in(folder) or return
            FileUtils.mkdir_p(folder)
            place
          end

          def remove_file(label) = FileUtils.rm_rf(File.join(@scratch.folders.fetch("disk"), "tiers-#{label}"))

          # --- the view of another machine ---

          def machines
            text = @stack.with(file("#{@label}-m"))
            conditions = @design.conditions(@stack).map { |condition| [text, @stack.name, *condition] }
            conditions << [@stack.last(file("#{@label}-m")), "#{@stack.name}, last tier alone", 0, false]
            conditions.each_with_index do |condition, index|
              stale(index, *condition)
              @progress.advance(@design.condition_seconds(@stack), "#{@stack.name}: changes, #{index + 1} of " \
                                                                   "#{conditions.size}")
            end
            burst
            @progress.advance(@design.burst_seconds(@stack), "#{@stack.name}: writes at once")
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
              note_ages(row, *watched(row, writer, beside || reader))
            end
          end

          # The watcher may be another process of the same machine. A process that computes watches only when its thread
          # runs.
          def watched(row, writer, looker)
            together(@design.changes, [writer, "change", { gap_ms: @design.gap_ms, seed: @seed }],
                     [looker, "watch", { seconds: @design.watch_seconds(@stack, row["busy"]) }])
          end

          def note_ages(row, changed, seen)
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
              note_burst(row, *together(@design.burst, [writer, "burst", {}],
                                        [reader, "hear", { seconds: burst_seconds }]))
            end
          end

          def burst_seconds = (@design.burst / 5_000.0) + @stack.patience_seconds

          def note_burst(row, written, heard)
            from, to = written.values_at("from", "to")
            row.update("writes_a_second" => (@design.burst / (to - from)).round, "heard" => heard["heard"])
            row["heard_a_second"] = (heard["heard"] / (heard["last"] - from)).round if heard["heard"].positive?
          end

          # @param orders [Array<Array(Engine::Job, String, Hash)>] all begin at one moment
          # @return [Array<Hash>] the answers
          def together(names, *orders)
            at = Load::Fleet.soon(LEAD_SECONDS)
            orders.each { |job, method, arguments| job.send_call(method, names:, at:, **arguments) }
            orders.map { |job, *| job.value }.each { |answer| Load::Fleet.checked(answer) }
          end

          # Starts two machines. The second one has copies of all names.
          #
          # @param others [Array<String>] contestants of more processes of the second
          # @yieldparam machines [Array<Engine::Job>]
          def between(row, label, text, names, others: [])
            texts = [text, text, *others]
            note(row, attempt do
              with_fleet(texts.size, path: "tables/tiers/machine") do |machines|
                machines.open(label:, names:) do |index|
                  { text: texts[index], context: { **context, shared: true, label: "#{label}-#{[index, 1].min}" } }
                end
                Load::Fleet.checked(machines.jobs[0].call("write", names:))
                Load::Fleet.checked(machines.jobs[1].call("warm", names:))
                yield machines.jobs
              end
              {}
            end)
          end
        end
      end
    end
  end
end
