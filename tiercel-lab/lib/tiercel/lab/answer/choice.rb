# frozen_string_literal: true

require_relative "../statistics"
require_relative "constraints"

module Tiercel
  module Lab
    module Answer
      # The decision: the cheapest page among the candidates that break no constraint. This is the one place that
      # decides; it reads nothing, measures nothing and prints nothing.
      class Choice
        # Candidates of an answer.
        MOST = 3
        # Between an application and a server on another machine, per call: assumed, because a run measures on one
        # machine.
        ROUND_TRIP_US = 500.0
        # The share of calls that a near tier passes on: misses, and their writes.
        FAR_SHARE = 0.1
        # Constraints that an application may meet next.
        OTHERS = [{ workers: 1, machines: 1 }, { machines: 2 }, { survives: "restart" }, { survives: "reboot" }].freeze

        # @return [Constraints]
        attr_reader :constraints

        # @param candidates [Array<Candidate>]
        # @param constraints [Constraints]
        # @param equality [Boolean] whether two costs may be called the same
        def initialize(candidates, constraints, equality: true)
          @candidates = candidates
          @constraints = constraints
          @equality = equality
        end

        # @return [Candidate, nil] nil where every candidate breaks a constraint
        def first = ranked.first

        # @return [Array<Candidate>] the first choice and those that follow it, at most {MOST}
        def shown = ranked.first(MOST)

        # @return [Array<Candidate>] those that the first choice cannot be told from, itself not among them
        def tied = ranked.drop(1).reject { |other| verdict(other) == :slower }

        # @return [Boolean] whether the first choice is cheaper than all others
        def clear? = !first.nil? && tied.empty?

        # @return [Hash{Candidate => String}] those that cannot be chosen, with the constraint that they break
        def broken = @broken ||= @candidates.to_h { |one| [one, one.breaks(constraints)] }.compact

        # @return [Statistics::Interval] us a page, with the round trips of servers on other machines
        def cost(candidate)
          return candidate.page_us unless constraints.machines > 1 && candidate.reach == :network
          trips = candidate.page_calls * ROUND_TRIP_US * (candidate.near ? FAR_SHARE : 1.0)
          candidate.page_us.map { |us| us + trips }
        end

        # @return [Float] how many times the first choice's page another one costs
        def times(candidate) = cost(candidate).estimate / cost(first).estimate

        # @return [Hash{Constraints => Candidate}] other constraints under which another candidate comes first
        def changes
          OTHERS.filter_map do |change|
            other = constraints.with(**change, given: change.keys.map(&:to_s))
            next if other.to_h.except(:given) == constraints.to_h.except(:given)
            choice = Choice.new(@candidates, other, equality: @equality)
            [other, choice.first] if choice.first && choice.first != first
          end.to_h
        end

        private

        def ranked
          @ranked ||= @candidates.reject { |one| broken.key?(one) }.sort_by { |one| cost(one).estimate }
        end

        # @return [Symbol] of another one's cost by the first choice's
        def verdict(other)
          margin = [other, first].map(&:margin).max
          Statistics::Verdict.of(cost(other).over(cost(first)), margin:, equality: @equality)
        end
      end
    end
  end
end
