# frozen_string_literal: true

require "tmpdir"
require "tiercel/lab/cli/all/child"
require "tiercel/lab/cli/all/entry"
require_relative "case"
require_relative "files"
require_relative "view"

module Tiercel
  module Lab
    module Tables
      # Compares the answers of quick runs with full runs of all stores, on applications from which no rule of the
      # answer was derived.
      module Choice
        class Table < Tables::Table
          called "choice", "Whether the first choice of a quick run is the best of a full one."
          example "choice", "choice --quick", "choice --plan"
          takes :quick, :seed

          CALLS = %w[--op read,write].freeze
          # Planned times of a run. On a slow machine, the budget shortens a full run to fewer blocks.
          EXHAUSTIVE_SECONDS = 125
          QUICK_SECONDS = 25
          # All stores in fresh processes; a fourth of the processes that the verdicts of a full run may take.
          EXHAUSTIVE = [*CALLS, "--processes", "6", "--budget", "115",
                        *Answer::Candidate::ALL.flat_map { |store| ["--store", store] }].freeze
          # Each of these stores is compared with itself, under another name.
          TWINS = { "--workers 2" => "tiercel:shared:", "--workers 4 --survives reboot" => "tiercel:sqlite:",
                    "--machines 2" => "redis_cache_store" }.freeze

          def plan_in_words
            "#{cases.size} applications with #{kinds.size} kinds of values, and #{twins.size} pairs of equal stores: " \
              "about #{Report::Format.minutes(expected_seconds)}."
          end

          def expected_seconds = (kinds.size * EXHAUSTIVE_SECONDS) + ((cases.size + twins.size) * QUICK_SECONDS)

          # Ctrl-C and SIGTERM keep the rows so far.
          def take(_comparisons)
            rows, @failures = [], []
            Dir.mktmpdir do |folder|
              run.watch(expected_seconds) do |progress|
                @progress = progress
                kinds.each { |kind| examine(kind, File.join(folder, kind)) { |row| rows << row } }
              end
            end
            run.table("choice", rows, asked: cases.size + twins.size)
          end

          def warnings = super + @failures

          def exit_code
            codes = { holds: :ok, fails: :does_not_hold, undecided: :undecided }
            CODES.fetch(codes.fetch(View.new(results, command: "").state))
          end

          private

          # A quick run only shows that the command works.
          def cases = settings.quick ? Case::ALL.first(2) : Case::ALL

          def kinds = cases.map(&:values).uniq

          def twins = settings.quick ? TWINS.first(1).to_h : TWINS

          # @yieldparam row [Hash{String => Object}]
          def examine(kind, folder)
            Dir.mkdir(folder)
            Files.write(kind, folder, seed: settings.seed)
            exhaustive = answered(EXHAUSTIVE_SECONDS, "#{kind}: all stores", "--data", folder, *EXHAUSTIVE)
            cases.each { |one| attempt { yield judged(one, folder, exhaustive) } if one.values == kind }
            return unless kind == kinds.first
            twins.each { |options, store| attempt { yield twin(options.split, store, folder) } }
          rescue CannotRun => e # without the full run, no case of this kind can be judged
            @failures << e.message
          end

          # A case that fails does not affect the others.
          def attempt
            yield
          rescue CannotRun => e
            @failures << e.message
          end

          # @return [Hash{String => Object}] results of a run of `compare` in a process of its own
          def answered(seconds, what, *arguments)
            entry = CLI::All::Entry.new(name: "compare", arguments: [*arguments, "--seed", settings.seed.to_s])
            part = Dir.mktmpdir do |folder|
              CLI::All::Child.new(entry, more: [], folder:).run do |line|
                @progress.advance(0, "#{what}: #{line[/ left: (.*)/, 1] || line}")
              end
            end
            @progress.advance(seconds, what)
            raise Interrupt if part.state == "interrupted"
            raise CannotRun, "#{what}: #{part.note}" unless part.complete?
            part.results
          end

          def choice(results, constraints) = Answer.of(results, constraints, program: "bin/lab").choice

          def judged(one, folder, exhaustive)
            quick = answered(QUICK_SECONDS, one.words, "--quick", "--data", folder, *CALLS, *one.options)
            found = choice(quick, quick["constraints"])
            costs = costs(choice(exhaustive, quick["constraints"]))
            first = found.first&.text
            { "case" => one.words, "first" => first, "clear" => found.clear?, "best" => costs.key(costs.values.min),
              "times" => costs.key?(first) ? costs[first] / costs.values.min : nil, "broken" => broken(one, found),
              "configuration" => found.first&.configuration(found.constraints), "costs" => costs }
          end

          # Every shown candidate has to meet the constraints.
          def broken(one, found)
            found.shown.filter_map do |store|
              word = one.broken_by(store.text, store.configuration(found.constraints))
              "#{store.text}: #{word}" if word
            end
          end

          def costs(truth) = truth.suiting.to_h { |store| [store.text, truth.cost(store).estimate] }

          def twin(options, store, folder)
            names = %w[one other].map { |name| "#{name}=#{store}" }
            quick = answered(QUICK_SECONDS, "#{store} twice", "--quick", "--data", folder, *CALLS, *options,
                             *names.flat_map { |name| ["--store", name] })
            found = choice(quick, quick["constraints"])
            { "case" => "#{store} twice, #{options.join(" ")}", "twin" => true, "first" => found.first&.text,
              "clear" => found.clear? }
          end
        end
      end

      add Choice::Table
    end
  end
end
