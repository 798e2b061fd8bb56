# frozen_string_literal: true

require_relative "../clock"
require_relative "../doctor"

module Tiercel
  class Web
    # The doctor's latest report. A thread runs the examination, so that an unreachable server does not block a page.
    #
    # @private
    class Examination
      # Seconds for which a report is shown before the next one is made.
      GOOD_SECONDS = 60
      # Seconds that a page waits for the first report; a healthy machine needs less.
      WAIT_SECONDS = 0.15
      private_constant :GOOD_SECONDS, :WAIT_SECONDS

      # @return [Float, nil] epoch seconds of the latest report
      attr_reader :examined_at

      def initialize
        @lock = Mutex.new
      end

      # @param stores [Hash{String => ActiveSupport::Cache::Store}, nil] the application's stores by default
      # @param wait_seconds [Numeric] maximum wait for the first report
      # @return [Doctor::Report, nil] nil while the first report is being made
      def report(stores = nil, wait_seconds: WAIT_SECONDS)
        thread = begin_examination(stores) unless fresh?
        thread&.join(wait_seconds) unless @report
        @report
      end

      private

      def fresh? = @report && Clock.now - @examined_at < GOOD_SECONDS

      # Starts at most one thread at a time; after a fork the parent's thread is not alive.
      def begin_examination(stores)
        @lock.synchronize do
          return @thread if @thread&.alive?
          @thread = Thread.new { within_executor { examine(stores) } }
          @thread
        end
      end

      def examine(stores)
        doctor = stores ? Doctor.new(stores, deployment: Doctor::Deployment.at_hand) : Doctor.of_application
        keep(doctor.examine)
      rescue StandardError => error # of the application's own configuration
        keep(Doctor::Report.new([Doctor::Finding.new(status: :unknown, check: "doctor", subject: "the application",
                                                     text: "cannot be examined (#{error.class})")]))
      end

      def keep(report)
        @examined_at = Clock.now
        @report = report
      end

      # Returns Solid Cache's database connection to its pool.
      def within_executor(&)
        application = Rails.application if defined?(Rails) && Rails.respond_to?(:application)
        application.respond_to?(:executor) ? application.executor.wrap(&) : yield
      end
    end
  end
end
