# frozen_string_literal: true
# suites: insight

require_relative "doctor_case"

# Versions of the gems behind the stores of Tiercel and Rails.
class DoctorGemsTest < DoctorCase
  # A Rails store of which only the kind is used.
  def store(name)
    Class.new(ActiveSupport::Cache::MemoryStore) { define_singleton_method(:name) { name } }.new
  end

  def test_gems_of_rails_stores
    { "ActiveSupport::Cache::RedisCacheStore" => %w[redis 4.8.1 5.0.0],
      "ActiveSupport::Cache::MemCacheStore" => %w[dalli 2.7.11 3.2.8],
      "SolidCache::Store" => %w[solid_cache 0.7.0 1.0.0] }.each do |name, (gem, old, sound)|
      with_version(gem, old) { assert_found(/\A#{gem} #{old} is no longer maintained/, of_gems(name)) }
      with_version(gem, sound) { assert_equal ["#{gem} #{sound}"], of_gems(name).findings.map(&:text) }
      with_version(gem, nil) { assert_empty of_gems(name).findings }
    end
  end

  private

  def of_gems(name)
    subject = Tiercel::Insight::Doctor::Subject.new("the cache", store(name))
    Tiercel::Insight::Doctor::Report.new(Tiercel::Insight::Doctor::Checks::Gems.new(subject, here).findings)
  end

  # Pretends that RubyGems has loaded this version.
  def with_version(gem, version)
    before = Gem.loaded_specs[gem]
    version ? Gem.loaded_specs[gem] = Gem::Specification.new(gem, version) : Gem.loaded_specs.delete(gem)
    yield
  ensure
    before ? Gem.loaded_specs[gem] = before : Gem.loaded_specs.delete(gem)
  end
end
