# frozen_string_literal: true

# Test classes of the store's contract over several places.
module StorePlaces
  # Defines a test class for each place.
  #
  # @param tests [Module] receives the classes
  # @param places [Hash{String => Module}] by the beginnings of the classes' names; each includes the contract
  # @return [void]
  def self.define(tests, places)
    places.each do |name, place|
      tests.const_set("#{name}Test", Class.new(Tiercel::TestCase) { include place })
    end
  end
end
