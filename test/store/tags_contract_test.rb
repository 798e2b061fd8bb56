# frozen_string_literal: true
# suites: store*

require "test_helper"
require "contracts/tags_contract"
require "support/fetch_places"

# Tags over every backend.
module TagsContractTests
  PLACES = [*FetchPlaces::URLS.keys, :tiers].freeze

  module Place
    include Tiercel::Contracts::TagsContract
    include FetchPlaces::Place

    def build_store(**options) = place == :tiers ? build_tiers(**options) : super

    private

    def build_tiers(**)
      Tiercel.new("shared:#{dir}/near?size=16MB", FetchPlaces.redis.url, **FetchPlaces::PATIENCE, **)
    end
  end

  # Differences between Rails versions do not depend on the backend.
  on_this_line = ActiveSupport.version >= Gem::Version.new("8.1") ? PLACES : %i[sqlite]
  on_this_line.each do |place|
    test_class = Class.new(Tiercel::TestCase) do
      include Place

      define_method(:place) { place }
    end
    const_set("#{place.capitalize}Test", test_class)
  end
end
