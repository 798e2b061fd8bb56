# frozen_string_literal: true

# suites: insight

require_relative "insight_app"

# The doctor in an application made by `rails new`.
class FreshApplicationTest < InsightAppTest
  NEW = <<~'RUBY'
    require "rails/generators"
    require "rails/generators/rails/app/app_generator"
    Rails::Generators::AppGenerator.start(%w[fresh --minimal --skip-bundle --skip-git --skip-asset-pipeline --quiet])
  RUBY

  def test_nothing_is_found_in_a_fresh_application
    with_app do |app|
      out(app.runner(NEW))
      assert_predicate doctor(app, "development"), :ok?
      out(app.rails("generate", "tiercel:install", env: { "RAILS_ENV" => "development" }, folder: "fresh"))
      assert_match(/^  config\.cache_store = :tiercel_store/, app.read("fresh/config/environments/production.rb"))
      assert_predicate doctor(app, "production"), :ok?
    end
  end

  # The content of config/cache.yml in Rails 8.
  def test_nothing_is_found_in_solid_cache_with_its_bound
    with_app do |app|
      app.cache_store = ":solid_cache_store, { max_size: 268_435_456 }"
      ran = app.rails("cache:doctor", env: { "CACHE_STORE" => "solid_cache_store" })
      assert_match(/Solid Cache is bounded by max_size 268435456/, out(ran))
      assert_match(%r{values: not encrypted: .* \(encrypt: true in config/cache.yml\)}, ran.out)
    end
  end

  private

  def doctor(app, environment)
    ran = app.rails("cache:doctor", env: { "RAILS_ENV" => environment }, folder: "fresh")
    assert_match(/Nothing found/, ran.out, ran.to_s)
    ran
  end
end
