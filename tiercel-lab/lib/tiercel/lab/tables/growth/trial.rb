# frozen_string_literal: true

require "fileutils"
require_relative "../../engine"
require_relative "../../engine/resident_memory"
require_relative "../../servers"
require_relative "design"
require_relative "room"

module Tiercel
  module Lab
    module Tables
      module Growth
        # Measures a {Design}: for each store and point, fresh processes (and a fresh server) that fill it, call it, and
        # are weighed. What this machine has no room for keeps its row, with the reason.
        class Trial < Engine::Trial
          # Entries that one call of {Member#fill} writes.
          FILL_ENTRIES = 50_000
          MEGABYTE = 1024 * 1024

          def initialize(design, **)
            super(**)
            @design = design
          end

          private

          def measure
            @room = Room.new(@scratch.folders)
            @design.rounds.times do |round|
              @design.configurations(round).shuffle(random: Random.new(@seed + round)).each do |store, point|
                facts = { "store" => store, "round" => round, **point.record }
                rows << facts.merge(configuration(Design::STORES.fetch(store), point, round))
                @progress.advance(@design.seconds(point), "#{store}, #{point.at} #{point.factor}")
              end
            end
          end

          def configuration(store, point, round)
            refusal = @room.refusal(store.medium, @design.needed(store, point))
            return Engine::Outcome.failure(Engine::Outcome::CANNOT_RUN, refusal) if refusal
            within(store, point) { |members, server, label| measured(store, point, round, members, server, label) }
          rescue WorkerLost, Servers::Error => e
            Engine::Outcome.failure(Engine::Outcome::CANNOT_RUN, e.message.lines.first.strip)
          end

          # Processes, a server and folders, all gone afterwards: what lies on a tmpfs is memory.
          def within(store, point)
            label = format("%d-%03d", Process.pid, rows.size)
            server = start(store, point)
            members = Array.new(point.processes) { member(point) }
            yield members, server, label
          ensure
            members&.each(&:stop)
            server&.stop
            @scratch.folders.each_value { |folder| FileUtils.rm_rf(File.join(folder, "tiercel-lab-#{label}")) }
          end

          # One has a CPU of its own; several are where the kernel puts them, as an application's are.
          def member(point)
            job("tables/growth/member", pinning: point.processes == 1 ? @pinning : Engine::Pinning.new(cpus: []))
          end

          def start(store, point)
            return unless store.text.include?("mem_cache") || store.text.include?("memcached")
            Servers::Memcached.new(memory_mb: (@design.capacity(store, point) / MEGABYTE) + 64, max_item: "8m",
                                   cpu: (@pinning.server_cpu if point.processes == 1)).start
          end

          def measured(store, point, round, members, server, label)
            pids = [*members.map(&:pid), *server&.pid]
            opened = open(members) { |index| opening(store, point, round, server, label, index) }
            calls = @design.calls_at(point)
            rehearsed = all(members, "rehearse") { { calls: } }
            empty = Engine::ResidentMemory.bytes(pids)
            done = [opened, rehearsed, filled(store, point, members),
                    all(members, "measure") { { calls:, slices: @design.slices } }, all(members, "settle") { {} }]
            failed = done.flatten.find { |outcome| !measured?(outcome) }
            return failed.slice("status", "reason") if failed
            blank(clock: opened.first["clock"], processes_slices: done[3].map { |outcome| outcome["slices"] },
                  resident_bytes: (Engine::ResidentMemory.bytes(pids) - empty if empty),
                  file_bytes: file_bytes(label), version: server&.version).compact
          end

          # The first makes the folder that the others find.
          def open(members)
            [members.first(1), members.drop(1)].flat_map do |group|
              all(group, "open") { |index| yield members.index(group[index]) }
            end
          end

          def opening(store, point, round, server, label, index)
            { text: store.text, label:, index:, entries: point.entries, bytes: point.bytes, seed: @seed + round,
              context: { servers: server ? { memcached: { url: server.url, address: server.address } } : {},
                         folders: @scratch.folders, label:, shared: index.positive?,
                         capacity_bytes: @design.capacity(store, point) } }
          end

          # Those with a store of their own fill it each, else the first one fills for all. In pieces: a process that
          # does not answer is given up.
          def filled(store, point, members)
            fillers = store.own ? members : members.first(1)
            0.step(point.entries - 1, FILL_ENTRIES).flat_map do |first|
              all(fillers, "fill") { { first:, count: [FILL_ENTRIES, point.entries - first].min } }
            end
          end

          # @return [Integer] bytes in files on the disk
          def file_bytes(label)
            Dir.glob(File.join(@scratch.folders.fetch("disk"), "tiercel-lab-#{label}", "**", "*"))
               .sum { |path| File.file?(path) ? File.size(path) : 0 }
          end

          # All at once; all answers are waited for.
          def all(members, method)
            members.each_with_index { |member, index| member.send_call(method, **yield(index)) }
            members.map(&:value)
          end
        end
      end
    end
  end
end
