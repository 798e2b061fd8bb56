# frozen_string_literal: true

require_relative "../comparison"
require_relative "../documents/profile"
require_relative "../profile/trial"
require_relative "../table_command"
require_relative "../terminal/figures"

module Tiercel
  module Lab
    module Commands
      # Where the time of one operation goes: measured first, then watched by a profiler.
      class Profile < TableCommand
        called "profile",
               "Where the time goes: flame graphs of an operation on a store or client, and of the bare socket " \
               "beside it."
        example "profile mem_cache_store", "profile tiercel:redis: --op fetch --value html-822kb",
                "profile dalli --op client_get", "profile tiercel:shared: memory_store --html flames.html",
                "profile mem_cache_store --against before.jsonl"

        # What the fourth article watched.
        DEFAULT = "mem_cache_store"
        OPERATIONS = { store: "read", client: "client_get" }.freeze
        VALUE = "html-2kb"
        SECONDS = 5.0
        QUICK_SECONDS = 1.5
        # The bare socket to the same server: for stores, and for clients.
        RAW = { store: { memcached: "raw_memcached", redis: "raw_redis" },
                client: { memcached: "raw:memcached", redis: "raw:redis", memcached_ring: "raw:ring" } }.freeze
        # What a socket does in place of an operation of the store's.
        RAW_OPERATIONS = { "fetch" => "read", "exist" => "read" }.freeze
        RAW_STORE_OPERATIONS = %w[read write].freeze

        def self.document(results, command:) = Documents::Profile.new(results, command:).build

        def options(parser)
          parser.separator("    TARGET [TARGET]                  a store or client as --store takes it (#{DEFAULT}); " \
                           "of two, the difference too")
          parser.on("--op NAME", "any of the lab's operations (read for stores, client_get for clients)") do |name|
            @operation = Operations.fetch(name)
          end
          parser.on("--value NAME", "of #{Values.names.join(", ")} (#{VALUE})") { |name| @value = Values.fetch(name) }
          parser.on("--seconds N", Float, "for which each is watched (#{SECONDS})") do |seconds|
            @seconds = positive(seconds)
          end
          parser.on("--against FILE", "an earlier run of this command: the difference") do |file|
            @against = profiles_of(file)
          end
          parser.on("--[no-]raw", "the bare socket beside it (yes)") { |raw| @no_raw = !raw }
        end

        def accept(rest)
          raise UsageError, "profile #{rest.join(" ")}: expected one target, or two" if rest.size > 2
          @targets = (rest.empty? ? [DEFAULT] : rest).map { |text| Contestants.parse(text) }
          return unless @targets.map(&:kind).uniq.size > 1
          raise UsageError, "profile #{rest.join(" ")}: one is a #{@targets.first.kind}, the other a " \
                            "#{@targets.last.kind}"
        end

        def plan
          first, *others = pairs
          [Comparison.between(value:, baseline: first, others:)]
        end

        def expected_seconds = super.to_f + (pairs.size * (seconds + Lab::Profile::Trial::START_SECONDS))

        def take(comparisons)
          super
          watched = pairs.group_by(&:last).map { |operation, of_operation| trial(of_operation.map(&:first), operation) }
          rows = []
          session.watch(watched.sum(&:expected_seconds)) do |progress|
            watched.each { |trial| trial.run(progress) { |row| rows << row } }
          end
          session.recorder.table("profiles", rows, seconds:)
          keep_before if @against
        end

        def exit_code
          states = results["tables"].flat_map { |table| table["rows"] }.map { |row| row["status"] }
          return ExitCodes::WRONG_VALUES if states.intersect?(["misses", "wrong values"])
          states.include?("cannot run") ? ExitCodes::UNDECIDED : super
        end

        private

        def value = @value || (settings.data ? Values::Files.new(directory: settings.data) : Values.fetch(VALUE))

        def seconds = @seconds || (settings.quick ? QUICK_SECONDS : SECONDS)

        def operation = @operation || Operations.fetch(OPERATIONS.fetch(@targets.first.kind) { "read" })

        # @return [Array<Array(Contestant, Operation)>]
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

        def trial(contestants, operation)
          Lab::Profile::Trial.new(contestants, operation:, value:, seconds:, seed: settings.seed,
                                               requires: settings.requires,
                                               stem: session.recorder.path.delete_suffix(".jsonl"))
        end

        def profiles_of(file)
          earlier = Results.load(file)
          rows = earlier["tables"].select { |table| table["name"] == "profiles" }.flat_map { |table| table["rows"] }
          rows = rows.select { |row| row["status"] == "measured" }
          raise UsageError, "--against #{file}: that run has no profiles" if rows.empty?
          { rows:, started_at: earlier["run"]["started_at"] }
        end

        # Of the first target, where it is there; else of whatever was watched.
        def keep_before
          row = @against[:rows].find { |candidate| candidate["text"] == @targets.first.text } || @against[:rows].first
          session.recorder.table("profile before", [row], started_at: @against[:started_at])
        end

        def positive(seconds)
          seconds.positive? ? seconds : raise(UsageError, "--seconds #{seconds}: expected more than 0")
        end
      end

      add Profile
    end
  end
end
