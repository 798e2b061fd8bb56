# frozen_string_literal: true

require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # Shows where the time of an operation goes. The operation is first measured, then profiled.
      module Profile
        class Table < Tables::Table
          called "profile", "Where the time of an operation goes, by function."
          example "profile mem_cache_store", "profile tiercel:redis: --op fetch --value html-822kb",
                  "profile dalli --op client_get", "profile tiercel:shared: memory_store --html profile.html",
                  "profile mem_cache_store --against before.jsonl"
          takes :quick, :seed, :cells, :data
          # Profiles each Rails client, and the raw socket to its server.
          in_all 90, arguments: %w[mem_cache_store redis_cache_store], seconds: 30

          # The client that the fourth article profiled.
          DEFAULT = "mem_cache_store"
          OPERATIONS = { store: "read", client: "client_get" }.freeze
          VALUE = "html-2kb"
          SECONDS = 5.0
          QUICK_SECONDS = 1.5
          # The raw socket to the same server, for stores and for clients.
          RAW = { store: { memcached: "raw_memcached", redis: "raw_redis" },
                  client: { memcached: "raw:memcached", redis: "raw:redis", memcached_ring: "raw:ring" } }.freeze
          # The raw socket's operation for an operation of a store.
          RAW_OPERATIONS = { "fetch" => "read", "exist" => "read" }.freeze
          RAW_STORE_OPERATIONS = %w[read write].freeze

          def self.usage = "[TARGET [TARGET]]"

          def options(parser)
            parser.separator("    TARGET: a store or client (#{DEFAULT}); of two, the difference too")
            parser.on("--op NAME", "see `help operations` (read; of clients client_get)") do |name|
              @operation = Operations.fetch(name)
            end
            parser.on("--value NAME", "see `help values` (#{VALUE})") { |name| @value = Values.fetch(name) }
            fact parser, "--seconds N", "of profiling each (#{SECONDS})", :seconds, :number
            parser.on("--against FILE", "earlier run to compare with") do |file|
              @against = profiles_of(file)
            end
            parser.on("--[no-]raw", "profile the raw socket too (yes)") { |raw| @no_raw = !raw }
          end

          def accept(rest)
            raise UsageError, "profile #{rest.join(" ")}: expected one target, or two" if rest.size > 2
            @targets = parse_all(rest.empty? ? [DEFAULT] : rest)
            return unless @targets.map(&:kind).uniq.size > 1
            raise UsageError, "profile #{rest.join(" ")}: one is a #{@targets.first.kind}, the other a " \
                              "#{@targets.last.kind}"
          end

          def plan
            first, *others = pairs
            [Engine::Comparison.between(value:, baseline: first, others:)]
          end

          def expected_seconds = super.to_f + (pairs.size * (seconds + Trial::START_SECONDS))

          def take(comparisons)
            super
            trial = Trial.new(pairs, value:, seconds:, seed: settings.seed, requires: settings.requires,
                                     stem: run.recorder.path.delete_suffix(".jsonl"))
            run.try(trial, trial.expected_seconds)
            run.table("profiles", trial.rows, seconds:)
            keep_before if @against
          end

          private

          # The user chose every row, so a row that cannot run fails the command.
          def asked_in_vain?(row) = row["status"] == Engine::Outcome::CANNOT_RUN

          def value = @value || (settings.data ? Values::Files.new(directory: settings.data) : Values.fetch(VALUE))

          def seconds = facts_given[:seconds] || (settings.quick ? QUICK_SECONDS : SECONDS)

          def operation = @operation || Operations.fetch(OPERATIONS.fetch(@targets.first.kind) { "read" })

          def pairs = @pairs ||= @targets.map { |target| [target, operation] } + raw_pairs

          def raw_pairs
            return [] if @no_raw
            @targets.filter_map { |target| raw_pair(target) }.uniq { |contestant, _operation| contestant.text }
          end

          def raw_pair(target)
            raw = RAW.dig(target.kind, target.servers.first) or return
            name = RAW_OPERATIONS.fetch(operation.name, operation.name)
            return if raw == target.text || (target.kind == :store && !RAW_STORE_OPERATIONS.include?(name))
            [Contestants.parse(raw), Operations.fetch(name)]
          end

          def profiles_of(file)
            earlier = Engine::Results.load(file)
            rows = earlier["tables"].select { |table| table["name"] == "profiles" }.flat_map { |table| table["rows"] }
            rows = rows.select { |row| Engine::Outcome.measured?(row) }
            raise UsageError, "--against #{file}: that run has no profiles" if rows.empty?
            { rows:, started_at: earlier["run"]["started_at"] }
          end

          # Keeps the first target's earlier profile, or the first profile of that run.
          def keep_before
            row = @against[:rows].find { |candidate| candidate["text"] == @targets.first.text } || @against[:rows].first
            run.table("profile before", [row], started_at: @against[:started_at])
          end
        end
      end

      add Profile::Table
    end
  end
end
