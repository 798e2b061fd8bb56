# frozen_string_literal: true
# suites: store*

require "test_helper"
require "tiercel/contracts/tags_contract"
require "tmpdir"
require "support/fetch_places"

# What tags keep: over every backend, on the fast path and through Rails' methods.
module TagsContractTests
  PLACES = [*FetchPlaces::URLS.keys, :tiers].freeze

  module Place
    include Tiercel::Contracts::TagsContract

    def setup
      super
      @dir = Dir.mktmpdir("tiercel-tags-")
      store.backend.clear unless place == :memory
    end

    def after_teardown
      super
      FileUtils.remove_entry(@dir)
    end

    # All of one test share their data; private memory is what one backend has.
    def build_store(**options)
      return build_tiers(**way, **options) if place == :tiers
      built = FetchPlaces.build(place, @dir, **way, **options)
      return built unless place == :memory
      @memory ||= built.backend
      built.tap { |store| share(store, @memory) }
    end

    def across_processes? = place != :memory

    def churn_seconds = long? ? 60 : 1.0

    private

    def build_tiers(**)
      Tiercel.new("shared:#{@dir}/near?size=16MB", FetchPlaces.redis.url, **FetchPlaces::PATIENCE, **)
    end

    def share(store, backend)
      store.backend.equal?(backend) || skip("memory: is of one store")
    end
  end

  # What differs between the Rails lines has nothing to do with the backend.
  on_this_line = ActiveSupport.version >= Gem::Version.new("8.1") ? PLACES : %i[sqlite]
  on_this_line.each do |place|
    { "Fast" => {}, "Plain" => { fast_path: false } }.each do |label, way|
      test_class = Class.new(Tiercel::TestCase) do
        include Place
        define_method(:place) { place }
        define_method(:way) { way }
      end
      const_set("#{place.capitalize}#{label}Test", test_class)
    end
  end
end
