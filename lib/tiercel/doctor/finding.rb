# frozen_string_literal: true

module Tiercel
  class Doctor
    # One answer of one check.
    #
    # @!attribute status [Symbol] :sound, :finding (with a fix), or :unknown (the check could not ask)
    # @!attribute check [String] name of the check, such as "redis"
    # @!attribute subject [String] name of the store
    # @!attribute text [String] what the check saw
    # @!attribute fix [String, nil] what to do about it
    Finding = Struct.new(:status, :check, :subject, :text, :fix, keyword_init: true) do
      # @return [Boolean]
      def finding? = status == :finding
    end
  end
end
