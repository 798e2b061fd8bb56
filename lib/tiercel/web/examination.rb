# frozen_string_literal: true

require_relative "../clock"
require_relative "../doctor"

module Tiercel
  class Web
    # The doctor's latest report. A thread examines, so that a server that does not answer holds no page up.
    #
    # @private
    class Examination
      # A report is shown for so long before the next one is made.
      GOOD_SECONDS = 60
      # A page waits so long for the first report; a machine that answers needs a part of it.
      WAIT_SECONDS = 0.15
      private_constant :GOOD_SECONDS, :WAIT_SECONDS

      # @return [Float, nil] epoch seconds of the latest report
      attr_reader :examined_at

      def initialize
        @lock = Mutex.new
      end

      # @param stores [Hash{String => ActiveSupport::Cache::Store}, nil] those of the application by default
      # @param wait_seconds [Numeric] for the first report
      # @return [Doctor::Report, nil] nil while the first one is made
      def report(stores = nil, wait_seconds: WAIT_SECONDS)
        thread = begin_examination(stores) unless fresh?
        thread&.join(wait_seconds) unless @report
        @report
      end

      private

      def fresh? = @report && Clock.now - @examined_at < GOOD_SECONDS

      # One at a time; a thread that a fork has ended is not alive.
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

      # Solid Cache's connection to its database goes back to the pool.
      def within_executor(&)
        application = Rails.application if defined?(Rails) && Rails.respond_to?(:application)
        application.respond_to?(:executor) ? application.executor.wrap(&) : yield
      end
    end
  end
end
