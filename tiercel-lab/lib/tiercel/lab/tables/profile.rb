# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # Shows where the time of an operation goes. The operation is first measured, then profiled.
    module Profile
      Tiercel::Lab.declare self, "tables/profile/recorder" => %i[Recorder]

      # Profiles several contestants, one after the other, each in a fresh process. Profiled runs are not timed.
      class Trial < Engine::Trial
        # Seconds to start a process, build the contestant and warm it up.
        START_SECONDS = 3.0

        # Rows have "calls", "file" and "top".
        #
        # @param pairs [Array<Array(Contestant, Operation)>]
        # @param seconds [Float] duration of each recording
        # @param stem [String] beginning of the paths of the profiler's files
        def initialize(pairs, value:, seconds:, stem:, **)
          super(**)
          @pairs = pairs
          @value = value
          @seconds = seconds
          @stem = stem
        end

        def expected_seconds = @pairs.size * (START_SECONDS + @seconds)

        private

        def measure
          @pairs.each_with_index do |(contestant, operation), index|
            facts = { "target" => contestant.name, "text" => contestant.text, "operation" => operation.name,
                      "value" => @value.name }
            rows << facts.merge(watch(contestant, operation, index))
            @progress.advance(START_SECONDS + @seconds, "profile of #{contestant.name}")
          end
        end

        def watch(contestant, operation, index)
          Engine::Outcome.of do
            job = job("tables/profile/recorder", bundle: bundle_of(contestant))
            job.call("watch", text: contestant.text, operation: operation.name, value: @value.to_spec, seed: @seed,
                              seconds: @seconds, file: file_of(contestant, operation),
                              context: context(contestant, "#{Process.pid}-#{index}"))
          ensure
            job&.stop
          end
        end

        def file_of(*parts) = "#{@stem}-#{parts.map { |part| part.name.gsub(/[^\w.-]+/, "_") }.join("-")}.profile.json"

        # @return [Gem::Specification, nil] of the lab's bundle
        def profiler = Gem.loaded_specs["vernier"] || Gem::Specification.find_all_by_name("vernier").max_by(&:version)

        # A contestant's own bundle has no profiler, so the profiler of the lab's bundle is added.
        def bundle_of(contestant)
          return contestant.bundle if contestant.bundle.nil? || profiler.nil?
          Engine::Gemfile.based_on(contestant.bundle, name: "vernier", source: %("= #{profiler.version}"))
                         .write("#{File.basename(contestant.bundle, ".gemfile")}-profile")
        end
      end

      class Table < Tables::Table
        called "profile", "Where the time of an operation goes, by function."
        example "profile mem_cache_store", "profile tiercel:redis: --op fetch --value html-822kb",
                "profile dalli --op client_get,client_set,client_get_multi,client_set_multi",
                "profile tiercel:shared: memory_store --html profile.html"
        takes :quick, :seed, :cells, :data
        # Profiles each Rails client, and the raw socket to its server.
        in_all 90, arguments: %w[mem_cache_store redis_cache_store]

        # The client that the fourth article profiled.
        DEFAULT = "mem_cache_store"
        OPERATIONS = { store: "read", client: "client_get" }.freeze
        VALUE = "html-2kb"
        SECONDS = 5.0
        QUICK_SECONDS = 1.5
        # The raw socket to the same server, for stores and for clients.
        RAW = { store: { memcached: "raw_memcached", redis: "raw_redis" },
                client: { memcached: "raw:memcached", redis: "raw:redis" } }.freeze
        # The raw socket's operation for an operation of a store.
        RAW_OPERATIONS = { "fetch" => "read", "exist" => "read" }.freeze
        RAW_STORE_OPERATIONS = %w[read write].freeze

        def self.usage = "[TARGET [TARGET]]"

        def options(parser)
          parser.separator("    TARGET: a store or client (#{DEFAULT})")
          things parser, "--op", Operations, :operations, "see `help operations` (read; of clients client_get)"
          parser.on("--value NAME", "see `help values` (#{VALUE})") { |name| @value = Values.fetch(name) }
          fact parser, "--seconds N", "of profiling each (#{SECONDS})", :seconds, :number
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
          groups.map { |first, *others| Engine::Comparison.between(value:, baseline: first, others:) }
        end

        def expected_seconds = super.to_f + (pairs.size * (seconds + Trial::START_SECONDS))

        def take(comparisons)
          super
          trial = Trial.new(pairs, value:, seconds:, seed: settings.seed, requires: settings.requires,
                                   stem: run.recorder.path.delete_suffix(".jsonl"))
          run.try(trial, trial.expected_seconds)
          run.table("profiles", trial.rows, seconds:)
        end

        private

        # The user chose every row, so a row that cannot run fails the command.
        def asked_in_vain?(row) = row["status"] == Engine::Outcome::CANNOT_RUN

        def value = @value || (settings.data ? Values::Files.new(directory: settings.data) : Values.fetch(VALUE))

        def seconds = facts_given[:seconds] || (settings.quick ? QUICK_SECONDS : SECONDS)

        def operations
          facts_given[:operations] || [Operations.fetch(OPERATIONS.fetch(@targets.first.kind) { "read" })]
        end

        # The targets and their raw sockets, by operation. For a client, four operations reproduce the fourth article's
        # eight profiles.
        def groups
          @groups ||= operations.map do |operation|
            @targets.map { |target| [target, operation] } + raw_pairs(operation)
          end
        end

        def pairs = groups.flatten(1)

        def raw_pairs(operation)
          return [] if @no_raw
          @targets.filter_map { |target| raw_pair(target, operation) }.uniq { |contestant, _operation| contestant.text }
        end

        def raw_pair(target, operation)
          raw = RAW.dig(target.kind, target.servers.first) or return
          name = RAW_OPERATIONS.fetch(operation.name, operation.name)
          return if raw == target.text || (target.kind == :store && !RAW_STORE_OPERATIONS.include?(name))
          [Contestants.parse(raw), Operations.fetch(name)]
        end
      end

      # Shows times, and the functions that take them. The profiler's own viewer draws flame graphs.
      class View < Tables::View
        article(/times\z/)
        quick "Quick: few samples; shares are rough."

        OPENED_WITH = "Self time (`vernier view`); profiler.firefox.com draws the flame graph of:"

        def title = "Where the time goes: #{first_of("operation", "an operation")} of #{first_of("value", "a value")}"

        def sentence
          row = profiles.find { |profile| Engine::Outcome.measured?(profile) } or return "No profile could be made."
          of_row = ->(cell) { [cell["contestant"]["text"], cell["operation"]] == row.values_at("text", "operation") }
          cell = cells.find(&of_row)
          "#{row["target"]}, #{row["operation"]}: #{cell && measured?(cell) ? "#{time(cell)} a call" : "not timed"}; " \
            "#{several(profiles.count { |one| one["file"] }, "profile")}."
        end

        def fill(document)
          document.section("Time") { |section| add_times(section) }
          profiles.each do |row|
            document.section("#{row["target"]}, #{row["operation"]}") { |section| add_profile(section, row) }
          end
        end

        private

        def profiles = rows("profiles")

        def first_of(fact, otherwise) = cells.first&.fetch(fact) || otherwise

        def raw?(row) = row["text"].match?(/\Araw[_:]/)

        def add_times(section)
          section.text("Measured first, without a profiler. The bare socket sends prepared bytes and reads exactly " \
                       "the answer: what is beyond it is the client's.")
          columns = { "target" => :name, "operation" => ->(cell) { cell["operation"] }, "time a call" => :time,
                      "ratio" => :ratio, "beyond the socket" => :beyond, "objects" => :objects }
          section.add(cell_table("Profile: times", cells, columns, labels: 2))
        end

        def beyond(cell)
          socket = cells.find do |other|
            raw?(other["contestant"]) && other["contestant"]["servers"] == cell["contestant"]["servers"] &&
              other["comparison"] == cell["comparison"]
          end
          return "" if socket.nil? || socket == cell || !measured?(cell) || !measured?(socket)
          mine, bare = [cell, socket].map { |one| interval(one["summary"]["ns"], 1e-3) }
          difference = mine.minus(bare)
          Report::Cell.interval(difference, unit: "us", muted: difference.cover?(0))
        end

        def add_profile(section, row)
          return section.text("No profile: #{Engine::Outcome.words(row)}.") unless Engine::Outcome.measured?(row)
          calls = Report::Format.number(row["calls"])
          section.text("#{calls} calls in #{notes("profiles")["seconds"]} s.")
          section.code([row["file"], *row["top"]].join("\n"), title: OPENED_WITH)
        end
      end
    end
  end
end
