# frozen_string_literal: true

require_relative "attempts"

module Tiercel
  module Store
    module Fetch
      # Which versions of which keys have displaced the leases of others, or waited for their own, lately. Each does so
      # once in a while: versions have no order, and two of them must not displace each other again and again.
      #
      # @private
      class Displacements
        def initialize
          @attempts = Attempts.new
        end

        # @param call [Call]
        # @return [Boolean] whether that version has not done so lately
        def begin(call) = @attempts.begin("#{call.kept_version}\0#{call.key.b}".b, call.policy.lease_ttl * 2)
      end
    end
  end
end
