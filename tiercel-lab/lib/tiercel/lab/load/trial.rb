# frozen_string_literal: true

require "fileutils"
require_relative "../engine"
require_relative "../servers"
require_relative "fleet"

module Tiercel
  module Lab
    module Load
      # A trial that applies loads to stores.
      #
      # @abstract Subclasses implement {#measure}.
      class Trial < Engine::Trial
        # These errors fail a row, not the run.
        REASONS = [CannotRun, WorkerLost, WrongValue, Missed, Servers::Error, IO::TimeoutError].freeze
        # Processes are not pinned, as in an application.
        ANYWHERE = Engine::Pinning.new(cpus: [])

        private

        # @param count [Integer] number of processes
        # @param pinnings [Array<Engine::Pinning>] assigned to the processes in turn
        # @yieldparam fleet [Fleet] stopped after the block
        # @return [Object] the block's value
        def with_fleet(count, path: "load/client", bundle: nil, pinnings: [ANYWHERE])
          jobs = []
          count.times { |index| jobs << job(path, bundle:, pinning: pinnings[index % pinnings.size]) }
          yield Fleet.new(jobs)
        ensure
          Fleet.new(jobs).stop
        end

        # @yieldreturn [Hash] figures
        # @return [Hash{String => Object}] see {Engine::Outcome.of}
        def attempt
          yield.transform_keys(&:to_s).merge("status" => Engine::Outcome::MEASURED, "reason" => nil)
        rescue *REASONS => e
          Engine::Outcome.of { raise e }.merge("reason" => e.message.lines.first.to_s.strip)
        end

        # @return [String] label for names and folders; unique in this run
        def label(*parts) = format(["%d", *["%02d"] * parts.size].join("-"), Process.pid, *parts)

        def remove_folders(label)
          @scratch.folders.each_value { |folder| FileUtils.rm_rf(File.join(folder, "tiercel-lab-#{label}")) }
        end
      end
    end
  end
end
