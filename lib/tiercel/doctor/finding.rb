# frozen_string_literal: true

module Tiercel
  class Doctor
    # One result of one check.
    #
    # @!attribute status [Symbol] :sound, :finding (with a fix), or :unknown (the check could not run)
    # @!attribute check [String] the name of the check, such as "redis"
    # @!attribute subject [String] the name of the store
    # @!attribute text [String] the observation
    # @!attribute fix [String, nil] the remedy
    Finding = Struct.new(:status, :check, :subject, :text, :fix, keyword_init: true) do
      # @return [Boolean]
      def finding? = status == :finding
    end
  end
end
