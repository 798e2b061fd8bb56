# frozen_string_literal: true

require_relative "../statistics"
require_relative "candidate"
require_relative "constraints"
require_relative "page"

module Tiercel
  module Lab
    module Answer
      # Chooses the store with the cheapest page among the candidates that meet all constraints. It only decides: it
      # does not read, measure or print.
      class Choice
        # Maximum number of candidates that an answer shows.
        MOST = 3
        # Assumed share of calls that reach the last tier: misses, and their writes.
        FAR_SHARE = 0.1
        # Constraints for which the answer says how it would change.
        OTHERS = [{ workers: 1, machines: 1 }, { machines: 2 }, { survives: "restart" }, { survives: "reboot" }].freeze

        # @return [Constraints]
        attr_reader :constraints
        # @return [Page]
        attr_reader :page

        # @param candidates [Array<Candidate>]
        # @param constraints [Constraints]
        # @param equality [Boolean] whether two costs can be found equal
        # @param page [Page]
        # @param now [String, nil] text of the store that the application has now
        def initialize(candidates, constraints, equality: true, page: Page::ASSUMED, now: nil)
          @page = page
          @now = now
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

        # @return [Candidate, nil] the application's store of now, if the run measured it
        def now = @candidates.find { |one| one.text == @now }

        # @return [Statistics::Interval] microseconds of a page, with round trips to other machines and with its misses
        def cost(candidate)
          place = candidate.place
          missed = @page.reads.each_value.sum * misses(candidate) * @page.miss_us
          far = constraints.machines > 1 && place.reach == :network && (!place.remote || place.near)
          trips = far ? candidate.page_calls * @page.round_trip_us * (place.near ? FAR_SHARE : 1.0) : 0.0
          candidate.page_us.map { |us| us + trips + missed }
        end

        # @return [Float] share of the reads that miss
        def misses(candidate)
          @page.misses_with(candidate.place.reach == :process ? 1.0 / constraints.workers : 1.0)
        end

        # What another constraint would change.
        #
        # @!attribute [r] constraints
        #   @return [Constraints]
        # @!attribute [r] state
        #   @return [Symbol] :clear (`names` has the first choice), :tied (`names` cannot be told apart), :unmeasured
        #     (`names` suit, but this run has no figures for them), or :nothing (no store suits)
        # @!attribute [r] names
        #   @return [Array<String>]
        Change = Data.define(:constraints, :state, :names)

        # A run with the other constraints would measure every store that meets them, so this run can only tell what
        # it chooses if it has measured them all.
        #
        # @return [Array<Change>] other constraints under which the answer differs, or is unknown
        def changes
          OTHERS.filter_map do |change|
            other = constraints.with(**change, given: constraints.given | change.keys.map(&:to_s))
            next if other.to_h.except(:given) == constraints.to_h.except(:given)
            found = changed(other)
            found unless found.state == :clear && found.names == [first&.text]
          end
        end

        private

        def changed(other)
          measured = @candidates.map { |one| one.text == "tiercel" ? "tiercel:shared:" : one.text }
          missing = Candidate.suiting(other) - measured
          return Change.new(other, :unmeasured, missing) if missing.any?
          choice = Choice.new(@candidates, other, equality: @equality, page: @page, now: @now)
          return Change.new(other, :nothing, []) unless choice.first
          Change.new(other, choice.clear? ? :clear : :tied, [choice.first, *choice.tied].map(&:text))
        end

        # @return [Symbol] verdict on the other's cost compared with the first choice's
        def verdict(other)
          margin = [other, first].map(&:margin).max
          Statistics::Verdict.of(cost(other).over(cost(first)), margin:, equality: @equality)
        end
      end
    end
  end
end
