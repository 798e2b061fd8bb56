# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Growth
        # Measures a {Design}. At each point, fresh processes and a fresh server fill the store and call it, and their
        # memory is measured. A point without enough room on this machine has a row with the reason.
        class Trial < Load::Trial
          # Entries that one call of {Member#fill} writes.
          FILL_ENTRIES = 50_000

          private

          def measure
            @room = Room.new(@scratch.folders)
            @design.rounds.times do |round|
              @design.configurations(round).shuffle(random: Random.new(@seed + round)).each do |store, point|
                facts = { "store" => store, "round" => round, **point.record }
                rows << facts.merge(attempt { configuration(Design::STORES.fetch(store), point, round) })
                @progress.advance(@design.seconds(point), "#{store}, #{point.at} #{point.factor}")
              end
            end
          end

          # Removes the folders afterwards, because files on a tmpfs take memory.
          def configuration(store, point, round)
            refusal = @room.refusal(store.medium, @design.needed(store, point)) and raise CannotRun, refusal
            label = label(rows.size)
            server = start(store, point)
            pinnings = [point.processes == 1 ? @pinning : ANYWHERE]
            with_fleet(point.processes, path: "tables/growth/member", pinnings:) do |members|
              measured(store, point, members, server, label) do |index|
                opening(store, point, round, server, label, index)
              end
            end
          ensure
            server&.stop
            remove_folders(label) if label
          end

          def start(store, point)
            kind = :memcached if store.text.match?(/mem_?cache/)
            bytes = @design.capacity(store, point) + (64 * Design::MEGABYTE)
            cpu = @pinning.server_cpu if point.processes == 1
            Load::CacheServer.start(kind, bytes:, max_item: "8m", cpu:)
          end

          # @yieldparam index [Integer] index of the process
          # @yieldreturn [Hash] arguments of {Member#open}
          def measured(store, point, members, server, label, &)
            pids = [*members.pids, *server&.pid]
            clock = members.open(&).first["clock"]
            calls = @design.calls_at(point)
            members.call("rehearse", calls:)
            empty = Engine::ResidentMemory.bytes(pids)
            fill(store, point, members)
            slices = members.call("measure", calls:, slices: @design.slices).map { |outcome| outcome["slices"] }
            members.call("settle")
            { clock:, processes_slices: slices, file_bytes: file_bytes(label), version: server&.version,
              resident_bytes: (Engine::ResidentMemory.bytes(pids) - empty if empty) }.compact
          end

          def opening(store, point, round, server, label, index)
            { text: store.text, label:, index:, entries: point.entries, bytes: point.bytes, seed: @seed + round,
              context: { servers: server ? { memcached: Load::CacheServer.facts(server) } : {},
                         folders: @scratch.folders, label:, shared: index.positive?,
                         capacity_bytes: @design.capacity(store, point) } }
          end

          # Every process fills its own store, or the first one fills the shared store. The filling goes in pieces,
          # because a process that does not answer in time counts as lost.
          def fill(store, point, members)
            fillers = store.own ? members : members.first(1)
            0.step(point.entries - 1, FILL_ENTRIES) do |first|
              fillers.call("fill", first:, count: [FILL_ENTRIES, point.entries - first].min)
            end
          end

          # @return [Integer] bytes in files on the disk
          def file_bytes(label)
            Dir.glob(File.join(@scratch.folders.fetch("disk"), "tiercel-lab-#{label}", "**", "*"))
               .sum { |path| File.file?(path) ? File.size(path) : 0 }
          end
        end
      end
    end
  end
end
