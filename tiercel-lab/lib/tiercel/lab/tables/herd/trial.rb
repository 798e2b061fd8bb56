# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Herd
        # Measures a {Design}. Each store has fresh processes, whose threads all fetch one key at the same moment, under
        # each condition. Every round has a new key.
        class Trial < Load::Trial
          # The size of stores that need one.
          CAPACITY_BYTES = 16 * 1024 * 1024
          # A rehearsal runs each condition once, with a block of this duration.
          REHEARSAL_MS = 1.0

          private

          def measure
            @design.contestants.each_with_index do |contestant, index|
              herds(contestant, label(index))
              @progress.advance(@design.seconds(contestant), contestant.name)
            end
          end

          # A store that cannot run keeps a row for each condition, with the reason.
          def herds(contestant, label)
            outcome = attempt do
              with_fleet(@design.processes, path: "tables/herd/member", bundle: contestant.bundle) do |members|
                open(contestant, members, label)
                rounds(contestant, members)
              end
            end
            return if measured?(outcome)
            Design.conditions(contestant).each { |condition| rows << facts(contestant, condition, 0).merge(outcome) }
          ensure
            remove_folders(label)
          end

          def facts(contestant, condition, round)
            { "store" => contestant.name, "condition" => condition.name, "round" => round }
          end

          def open(contestant, members, label)
            servers = @pool.facts(contestant.servers)
            members.open(text: contestant.text, label:, threads: @design.threads) do |index|
              { index:, context: { servers:, folders: @scratch.folders, label:, shared: index.positive?,
                                   capacity_bytes: CAPACITY_BYTES } }
            end
          end

          def rounds(contestant, members)
            own = own?(members)
            conditions = Design.conditions(contestant)
            conditions.each { |condition| herd(members, condition, "rehearsal", REHEARSAL_MS) }
            @design.rounds.times do |round|
              conditions.shuffle(random: Random.new(@seed + round)).each do |condition|
                found = attempt { checked(contestant, members, condition, round) }
                rows << facts(contestant, condition, round).merge("own" => own, **found)
              end
            end
            {}
          end

          # Returns whether each process has a store of its own, and so does not see the writes of another process.
          def own?(members)
            members.first(1).call("write", key: Member::PROBE)
            members.drop(1).call("read", key: Member::PROBE).any? { |found| found["maker"].nil? }
          end

          # Lets all callers fetch one key.
          #
          # @return [Array<Hash>] see {Member#fetch}, of each process
          def herd(members, condition, round, block_ms)
            key = "#{condition.name}-#{round}"
            options = condition.options
            members.call("write", key:, expires_in: Design::ENDS_SECONDS, options:) if condition.expired
            members.call("fetch", key:, at: Load::Fleet.soon(Design::LEAD_SECONDS), block_ms:, options:)
          end

          # @return [Hash{Symbol => Object}] figures of a row
          def checked(contestant, members, condition, round)
            answers = herd(members, condition, round, @design.block_ms)
            calls, blocks = %w[calls blocks].map { |part| answers.flat_map { |answer| answer[part] } }
            makers = blocks.map(&:first)
            check(calls.map(&:last), condition.expired ? [*makers, Member::OLD] : makers)
            stored(members, "#{condition.name}-#{round}", makers) if contestant.keeps?
            { callers_ms: calls.map { |call| call[1] }, late_ms: calls.map(&:first).max,
              stale: calls.count { |call| call.last == Member::OLD }, blocks_ms: blocks.map { |block| block.drop(1) } }
          end

          # Checks that all processes now read a value that some block computed.
          def stored(members, key, makers)
            found = members.call("read", key:).map { |answer| answer["maker"] }
            raise Missed, "nothing was stored by a block that ran" if found.any?(&:nil?)
            check(found, makers)
          end

          def check(given, makers)
            strange = given - makers
            raise WrongValue, "a caller was given what no block made: #{strange.first}" if strange.any?
          end
        end
      end
    end
  end
end
