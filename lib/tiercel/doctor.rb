# frozen_string_literal: true

require_relative "doctor/deployment"
require_relative "doctor/report"
require_relative "doctor/subject"
require_relative "doctor/checks/answers"
require_relative "doctor/checks/bounds"
require_relative "doctor/checks/gems"
require_relative "doctor/checks/journal"
require_relative "doctor/checks/memcached"
require_relative "doctor/checks/reach"
require_relative "doctor/checks/redis"
require_relative "doctor/checks/segments"
require_relative "doctor/checks/wire"

module Tiercel
  # Examines the cache stores of Tiercel and Rails in the process that uses them. Does the store answer, is its size
  # bounded, do all processes that need it share it? `bin/rails tiercel:doctor` prints the results;
  # docs/observability.md lists the checks.
  #
  #   report = Tiercel::Doctor.new({ "Rails.cache" => Rails.cache }).examine
  #   puts report.to_text
  #   exit report.exit_code
  class Doctor
    CHECKS = [Checks::Answers, Checks::Redis, Checks::Memcached, Checks::Reach, Checks::Segments, Checks::Bounds,
              Checks::Wire, Checks::Journal, Checks::Gems].freeze

    # @return [Doctor] for the stores of the current Rails application: Rails.cache, and the stores of controllers and
    #   sessions if they differ
    def self.of_application = new(Subject.of_application, deployment: Deployment.of_application)

    # @param stores [Hash{String => ActiveSupport::Cache::Store}] stores by their name in the report
    # @param deployment [Deployment] the deployment that the application runs in
    def initialize(stores, deployment: Deployment.new)
      @subjects = stores.map { |name, store| Subject.new(name, store) }
      @deployment = deployment
    end

    # Contacts the servers. Writes one key under "tiercel:doctor:" to each store and deletes it again.
    #
    # @return [Report]
    def examine
      findings = @subjects.flat_map do |subject|
        CHECKS.flat_map { |check| check.new(subject, @deployment).findings }
      end
      Report.new(findings)
    end
  end
end
