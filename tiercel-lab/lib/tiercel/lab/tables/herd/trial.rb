# frozen_string_literal: true

require "fileutils"
require_relative "../../engine"
require_relative "../../servers"
require_relative "design"
require_relative "member"

module Tiercel
  module Lab
    module Tables
      module Herd
        # Measures a {Design}: for each store fresh processes, whose threads all fetch one key at the same moment, under
        # each condition and with a fresh key in each round.
        class Trial < Engine::Trial
          # Room in stores that must be given a size.
          CAPACITY_BYTES = 16 * 1024 * 1024
          # Before anything counts each condition is met once, with a block that takes this.
          REHEARSAL_MS = 1.0

          # Processes are where the kernel puts them, as an application's are.
          def initialize(design, **)
            super(pinning: Engine::Pinning.new(cpus: []), **)
            @design = design
          end

          private

          def measure
            @design.contestants.each do |contestant|
              herds(contestant)
              @progress.advance(@design.seconds(contestant), contestant.name)
            end
          end

          # A store that cannot run keeps a row for each condition, with the reason.
          def herds(contestant)
            within(contestant) { |members| rounds(contestant, members) }
          rescue CannotRun, WorkerLost, WrongValue, Missed, Servers::Error => e
            Design.conditions(contestant).each do |condition|
              rows << facts(contestant, condition, 0).merge(Engine::Outcome.of { raise e })
            end
          end

          def facts(contestant, condition, round)
            { "store" => contestant.name, "condition" => condition.name, "round" => round }
          end

          # Processes and folders, all gone afterwards.
          def within(contestant)
            label = format("%d-%02d", Process.pid, @stores_begun = @stores_begun.to_i + 1)
            members = Array.new(@design.processes) { job("tables/herd/member", bundle: contestant.bundle) }
            open(contestant, members, label)
            yield members
          ensure
            members&.each { |member| close(member) }
            @scratch.folders.each_value { |folder| FileUtils.rm_rf(File.join(folder, "tiercel-lab-#{label}")) }
          end

          # What lies in a place of the user's is deleted, however it went.
          def close(member)
            member.call("close")
          rescue WorkerLost
            nil # its keys end by themselves
          ensure
            member.stop
          end

          # The first makes the folder that the others find.
          def open(contestant, members, label)
            servers = @pool.facts(contestant.servers)
            [members.first(1), members.drop(1)].each do |group|
              asked(group, "open") do |member|
                index = members.index(member)
                { text: contestant.text, label:, index:, threads: @design.threads,
                  context: { servers:, folders: @scratch.folders, label:, shared: index.positive?,
                             capacity_bytes: CAPACITY_BYTES } }
              end
            end
          end

          def rounds(contestant, members)
            own = own?(members)
            conditions = Design.conditions(contestant)
            conditions.each { |condition| herd(members, condition, "rehearsal", REHEARSAL_MS) }
            @design.rounds.times do |round|
              conditions.shuffle(random: Random.new(@seed + round)).each do |condition|
                found = Engine::Outcome.of { checked(contestant, members, condition, round) }
                rows << facts(contestant, condition, round).merge("own" => own, "reason" => nil, **found)
              end
            end
          end

          # Whether each process has a store of its own: it does not see what another one wrote.
          def own?(members)
            asked(members.first(1), "write") { { key: Member::PROBE } }
            asked(members.drop(1), "read") { { key: Member::PROBE } }.any? { |found| found["maker"].nil? }
          end

          # All callers of one key.
          #
          # @return [Array<Hash>] see {Member#fetch}, of each process
          def herd(members, condition, round, block_ms)
            key = "#{condition.name}-#{round}"
            if condition.ended
              asked(members, "write") { { key:, expires_in: Design::ENDS_SECONDS, options: condition.options } }
            end
            at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Design::LEAD_SECONDS
            asked(members, "fetch") { { key:, at:, block_ms:, options: condition.options } }
          end

          # @return [Hash{Symbol => Object}] figures of a row
          def checked(contestant, members, condition, round)
            answers = herd(members, condition, round, @design.block_ms)
            calls, blocks = %w[calls blocks].map { |part| answers.flat_map { |answer| answer[part] } }
            makers = blocks.map(&:first)
            check(calls.map(&:last), condition.ended ? [*makers, Member::OLD] : makers)
            stored(members, "#{condition.name}-#{round}", makers) if contestant.keeps?
            { callers_ms: calls.map { |call| call[1] }, late_ms: calls.map(&:first).max,
              stale: calls.count { |call| call.last == Member::OLD }, blocks_ms: blocks.map { |block| block.drop(1) } }
          end

          # What all processes find afterwards is what a block made.

          def stored(members, key, makers)
            found = asked(members, "read") { { key: } }.map { |answer| answer["maker"] }
            raise Missed, "nothing was stored by a block that ran" if found.any?(&:nil?)
            check(found, makers)
          end

          def check(given, makers)
            strange = given - makers
            raise WrongValue, "a caller was given what no block made: #{strange.first}" if strange.any?
          end

          # All at once; all answers are waited for, and none is a failure.
          #
          # @raise [CannotRun, WrongValue, Missed]
          def asked(members, method)
            answers = all(members, method) { |member| yield member }
            failed = answers.find { |answer| !measured?(answer) } or return answers
            kinds = { Engine::Outcome::WRONG => WrongValue, Engine::Outcome::MISSES => Missed }
            raise kinds.fetch(failed["status"], CannotRun), failed["reason"]
          end

          def all(members, method)
            members.each { |member| member.send_call(method, **(block_given? ? yield(member) : {})) }
            members.map(&:value)
          end
        end
      end
    end
  end
end
