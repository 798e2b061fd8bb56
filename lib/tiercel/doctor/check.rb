# frozen_string_literal: true

require_relative "finding"

module Tiercel
  class Doctor
    # One check of one store. A subclass implements {#examine} and reports with {#sound}, {#found} and {#unknown}.
    #
    # @abstract
    class Check
      # @param subject [Subject]
      # @param deployment [Deployment]
      def initialize(subject, deployment)
        @subject = subject
        @deployment = deployment
        @findings = []
      end

      # @return [Array<Finding>]
      def findings
        examine
        @findings
      rescue StandardError => error
        unknown("the check could not run: #{Redacted.text(error.message.lines.first.to_s.chomp)} (#{error.class})")
        @findings
      end

      private

      attr_reader :subject, :deployment

      def examine = raise(NotImplementedError)

      def name = self.class.name[/\w+\z/].downcase

      def sound(text) = add(:sound, text)
      def unknown(text) = add(:unknown, text)
      def found(text, fix:) = add(:finding, text, fix)

      def add(status, text, fix = nil)
        @findings << Finding.new(status:, check: name, subject: subject.name, text:, fix:)
      end
    end
  end
end
