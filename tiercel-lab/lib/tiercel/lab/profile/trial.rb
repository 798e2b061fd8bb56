# frozen_string_literal: true

require_relative "../runner/bundle"
require_relative "../runner/job_process"
require_relative "../runner/pinning"
require_relative "../runner/scratch"
require_relative "../runner/server_pool"
require_relative "../sides/gemfile"

module Tiercel
  module Lab
    module Profile
      # Profiles of several contestants, one after the other, each in a fresh process. Never while anything is timed.
      class Trial
        # To start a process, to build and to warm up.
        START_SECONDS = 3.0

        # @param contestants [Array<Contestant>]
        # @param operation [Operation]
        # @param value [Value]
        # @param seconds [Float] for which each is watched
        # @param seed [Integer]
        # @param stem [String] beginning of the paths of the profiler's files
        # @param requires [Array<String>]
        def initialize(contestants, operation:, value:, seconds:, seed:, stem:, requires: [])
          @contestants = contestants
          @operation = operation
          @value = value
          @seconds = seconds
          @seed = seed
          @stem = stem
          @requires = requires
        end

        # @return [Float]
        def expected_seconds = @contestants.size * (START_SECONDS + @seconds)

        # @param progress [#advance, #say]
        # @yieldparam row [Hash{String => Object}] of each, as soon as it is there
        # @return [void]
        def run(progress)
          @pinning = Runner::Pinning.new
          pool = Runner::ServerPool.new(pinning: @pinning)
          scratch = Runner::Scratch.new
          @contestants.each_with_index do |contestant, index|
            yield facts(contestant).merge(watch(contestant, index, pool, scratch, progress))
            progress.advance(START_SECONDS + @seconds, "profile of #{contestant.name}")
          end
        ensure
          pool&.stop
          scratch&.remove
        end

        private

        def facts(contestant)
          { "target" => contestant.name, "text" => contestant.text, "operation" => @operation.name,
            "value" => @value.name }
        end

        def watch(contestant, index, pool, scratch, progress)
          bundle = bundle_of(contestant)
          bundle.install(progress:)
          job = Runner::JobProcess.new("profile/recorder", bundle:, pinning: @pinning, requires: @requires).start
          job.call("watch", text: contestant.text, operation: @operation.name, value: @value.to_spec, seed: @seed,
                            seconds: @seconds, file: "#{@stem}-#{contestant.name.gsub(/[^\w.-]+/, "_")}.profile.json",
                            context: { servers: pool.facts(contestant.servers), folders: scratch.folders,
                                       label: "#{Process.pid}-#{index}" })
        rescue CannotRun, WorkerLost => e
          { "status" => "cannot run", "reason" => e.message }
        ensure
          job&.stop
        end

        # A bundle of the contestant's own has no profiler; the lab's has, if anybody has.
        def bundle_of(contestant)
          spec = Gem.loaded_specs["vernier"] || Gem::Specification.find_all_by_name("vernier").max_by(&:version)
          return Runner::Bundle.new(contestant.bundle) if contestant.bundle.nil? || spec.nil?
          base = contestant.bundle
          base = File.join(Runner::Bundle::FOLDER, "#{base}.gemfile") unless File.absolute_path?(base)
          gemfile = Sides::Gemfile.new(base:, name: "vernier", source: %("= #{spec.version}"))
          Runner::Bundle.new(gemfile.write("#{File.basename(base, ".gemfile")}-profile"))
        end
      end
    end
  end
end
