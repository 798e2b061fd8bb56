# frozen_string_literal: true

require_relative "../support/lab_case"

# Litecache and Solid Cache report their requirements before anything is built.
class DiskContestantsTest < LabCase
  def test_each_has_a_bundle_of_its_own_that_names_its_gems
    { "litecache" => "litestack", "solid_cache_store" => "solid_cache", "solid_cache_store:postgresql" => "pg" }
      .each do |text, gem|
        contestant = parse(text)
        gemfile = File.join(Tiercel::Lab::Engine::Bundle::FOLDER, "#{contestant.bundle}.gemfile")
        assert_includes File.read(gemfile), %(gem "#{gem}")
        assert_includes contestant.gems, gem
      end
  end

  def test_databases_are_in_workers_of_their_own
    refute_equal parse("solid_cache_store").bundle, parse("solid_cache_store:postgresql").bundle
    assert_equal parse("solid_cache_store").bundle, parse("solid_cache_store:equal").bundle
  end

  def test_only_postgresql_needs_a_server
    assert_equal [%i[postgresql], [], []],
                 [parse("solid_cache_store:postgresql"), parse("solid_cache_store"), parse("litecache")].map(&:servers)
    assert_equal %i[loopback disk disk],
                 [parse("solid_cache_store:postgresql"), parse("solid_cache_store"),
                  parse("litecache:equal")].map(&:medium)
  end

  private

  def parse(text) = Tiercel::Lab::Contestants.parse(text)
end
