# frozen_string_literal: true

require_relative "../../engine/gemfile"

module Tiercel
  module Lab
    module Tables
      module Profile
        # Profiles several contestants, one after the other, each in a fresh process. Nothing is timed meanwhile.
        class Trial < Engine::Trial
          # Starting a process, building the contestant, and warming up.
          START_SECONDS = 3.0

          # Rows have "folded", "profiler", "calls" and "file".
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
            job = job("tables/profile/recorder", bundle: bundle_of(contestant))
            job.call("watch", text: contestant.text, operation: operation.name, value: @value.to_spec, seed: @seed,
                              seconds: @seconds, file: "#{@stem}-#{contestant.name.gsub(/[^\w.-]+/, "_")}.profile.json",
                              context: { servers: @pool.facts(contestant.servers), folders: @scratch.folders,
                                         label: "#{Process.pid}-#{index}" })
          rescue CannotRun, WorkerLost => e
            Engine::Outcome.failure(Engine::Outcome::CANNOT_RUN, e.message)
          ensure
            job&.stop
          end

          # A contestant's own bundle has no profiler, so the profiler of the lab's bundle is added.
          def bundle_of(contestant)
            spec = Gem.loaded_specs["vernier"] || Gem::Specification.find_all_by_name("vernier").max_by(&:version)
            return contestant.bundle if contestant.bundle.nil? || spec.nil?
            Engine::Gemfile.based_on(contestant.bundle, name: "vernier", source: %("= #{spec.version}"))
                           .write("#{File.basename(contestant.bundle, ".gemfile")}-profile")
          end
        end
      end
    end
  end
end
