# frozen_string_literal: true
# suites: store

require "test_helper"
require "contracts/fetch_contract"
require "contracts/store_contract"
require "support/fetch_places"
require "support/heard_calls"

# `fetch` with many callers for one value: over every backend.
module FetchContractTests
  module Place
    include Tiercel::Contracts::FetchContract
    include FetchPlaces::Place

    # `shared:` checks whether the holder is alive, and does not wait for its lease.
    def killed_lease_ttl = place == :shared ? 60 : super
  end

  # Tests the fast path with subscribers and a logger that receive every call.
  class MemoryHeardTest < Tiercel::TestCase
    include Place
    include HeardCalls

    def place = :memory
  end

  FetchPlaces::URLS.each_key do |place|
    test_class = Class.new(Tiercel::TestCase) do
      include Place

      define_method(:place) { place }
    end
    const_set("#{place.capitalize}Test", test_class)
  end
end
