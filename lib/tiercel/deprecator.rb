# frozen_string_literal: true

require "active_support/deprecation"

module Tiercel
  @deprecator = ActiveSupport::Deprecation.new("0.2", "Tiercel")

  # @return [ActiveSupport::Deprecation] for what goes away with the next minor version; in Rails one of
  #   `Rails.application.deprecators`
  def self.deprecator = @deprecator
end
