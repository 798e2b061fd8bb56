# frozen_string_literal: true

require_relative "../statistics"
require_relative "constraints"

module Tiercel
  module Lab
    module Answer
      # Chooses the store with the cheapest page among the candidates that meet all constraints. It only decides: it
      # does not read, measure or print.
      class Choice
        # Maximum number of candidates that an answer shows.
        MOST = 3
        # Assumed time of a round trip between an application and a server on another machine. A run measures on one
        # machine.
        ROUND_TRIP_US = 500.0
        # Assumed share of calls that reach the last tier: misses, and their writes.
        FAR_SHARE = 0.1
        # Constraints for which the answer says how it would change.
        OTHERS = [{ workers: 1, machines: 1 }, { machines: 2 }, { survives: "restart" }, { survives: "reboot" }].freeze

        # @return [Constraints]
        attr_reader :constraints

        # @param candidates [Array<Candidate>]
        # @param constraints [Constraints]
        # @param equality [Boolean] whether two costs can be found equal
        def initialize(candidates, constraints, equality: true)
          @candidates = candidates
          @constraints = constraints
          @equality = equality
        end

        # @return [Array<Candidate>] candidates that meet all constraints, the cheapest first
        def suiting
          @suiting ||= @candidates.reject { |one| broken.key?(one) }.sort_by { |one| cost(one).estimate }
        end

        # @return [Candidate, nil] the first choice; nil if every candidate breaks a constraint
        def first = suiting.first

        # @return [Array<Candidate>] the first choice and the next ones, at most {MOST}
        def shown = suiting.first(MOST)

        # @return [Array<Candidate>] other candidates whose difference from the first choice is undecided
        def tied = suiting.drop(1).reject { |other| verdict(other) == :slower }

        # @return [Boolean] whether the first choice is cheaper than all others
        def clear? = !first.nil? && tied.empty?

        # @return [Hash{Candidate => String}] candidates that break a constraint, with the constraint
        def broken = @broken ||= @candidates.to_h { |one| [one, one.breaks(constraints)] }.compact

        # @return [Statistics::Interval] microseconds of a page, including round trips to other machines
        def cost(candidate)
          place = candidate.place
          return candidate.page_us unless constraints.machines > 1 && place.reach == :network
          return candidate.page_us if place.remote && !place.near # its trips were measured
          trips = candidate.page_calls * ROUND_TRIP_US * (place.near ? FAR_SHARE : 1.0)
          candidate.page_us.map { |us| us + trips }
        end

        # @return [Float] the candidate's cost, as a multiple of the first choice's cost
        def times(candidate) = cost(candidate).estimate / cost(first).estimate

        # @return [Hash{Constraints => Candidate}] other constraints, with the candidate that would be the first choice
        def changes
          OTHERS.filter_map do |change|
            other = constraints.with(**change, given: change.keys.map(&:to_s))
            next if other.to_h.except(:given) == constraints.to_h.except(:given)
            choice = Choice.new(@candidates, other, equality: @equality)
            [other, choice.first] if choice.first && choice.first != first
          end.to_h
        end

        private

        # @return [Symbol] verdict on the other's cost compared with the first choice's
        def verdict(other)
          margin = [other, first].map(&:margin).max
          Statistics::Verdict.of(cost(other).over(cost(first)), margin:, equality: @equality)
        end
      end
    end
  end
end
