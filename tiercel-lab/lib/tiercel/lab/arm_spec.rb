# frozen_string_literal: true

module Tiercel
  module Lab
    # One arm as it is planned.
    #
    # @!attribute [r] id
    #   @return [Integer] number within its comparison
    # @!attribute [r] contestant
    #   @return [Contestant]
    # @!attribute [r] operation
    #   @return [Operation]
    # @!attribute [r] role
    #   @return [Symbol] :baseline, :contestant, :null (the same as another arm, built once more), or :loop
    # @!attribute [r] twin_of
    #   @return [Integer, nil] for a null arm: the arm that it repeats
    ArmSpec = Data.define(:id, :contestant, :operation, :role, :twin_of) do
      # @return [Boolean] whether it is a row of the tables
      def row? = %i[baseline contestant].include?(role)

      # @return [String]
      def name
        case role
        when :null then "#{contestant.name} (again)"
        when :loop then "loop"
        else contestant.name
        end
      end
    end
  end
end
