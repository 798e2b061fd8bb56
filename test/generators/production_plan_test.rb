# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "erb"
require "generators/tiercel/install/production_plan"
require "generators/tiercel/install/test_helper_file"

# `tiercel:install` rewrites complete files.
class ProductionPlanTest < Tiercel::TestCase
  Plan = Tiercel::Generators::ProductionPlan
  SQLITE = { "databases" => [{ "name" => "cache", "adapter" => "sqlite3", "database" => "storage/p.sqlite3" }] }.freeze
  POSTGRESQL = { "databases" => [{ "name" => "cache", "adapter" => "postgresql", "database" => "app_cache" }] }.freeze

  def plan(production, solid: SQLITE, **options)
    Plan.new("Rails.application.configure do\n#{production}end\n", **options) do
      Tiercel::Generators::SolidCacheSettings.new(solid)
    end
  end

  def statements(*arguments, **options) = plan(*arguments, **options).statements

  SOLID = "  config.cache_store = :solid_cache_store\n"

  def test_solid_cache_keeps_size_age_namespace_and_expiry
    options = { "max_size" => 512 << 20, "max_age" => 60 * 86_400, "max_entries" => 1000, "namespace" => "production",
                "race_condition_ttl" => 5 }
    statement, = statements(SOLID, solid: { **SQLITE, "store_options" => options })
    assert_includes statement, '"shared:", "sqlite:storage/cache.sqlite3?size=512MB"'
    ["expires_in: 60 * 86_400", "max_entries: 1000", 'namespace: "production"', "race_condition_ttl: 5"].each do |kept|
      assert_includes statement, kept
    end
    assert_empty Prism.parse(statement).errors
  end

  def test_the_default_age_of_solid_cache_is_kept_and_said
    plan = plan(SOLID)
    assert_includes plan.statements.first, "expires_in: 14 * 86_400"
    assert_match(/14 days.*default/, plan.notes.join)
  end

  def test_options_of_the_statement_win_over_those_of_the_file
    store = "  config.cache_store = :solid_cache_store, { max_size: 1.gigabyte, max_age: 1.day }\n"
    statement, = statements(store, solid: { **SQLITE, "store_options" => { "max_size" => 1 << 20, "max_age" => 3 } })
    assert_includes statement, 'cache.sqlite3?size=#{1.gigabyte}"'
    assert_includes statement, "expires_in: 1.day"
  end

  def test_each_dropped_option_of_solid_cache_is_named
    solid = { "databases" => SQLITE["databases"] * 2, "encrypt" => true,
              "store_options" => { "expiry_method" => "job", "expiry_batch_size" => 5, "mystery" => 1 } }
    dropped = plan(SOLID, solid:).notes.filter_map { |note| note[/\A(\w+): dropped/, 1] }
    assert_equal %w[databases encrypt expiry_batch_size expiry_method mystery], dropped.sort
  end

  def test_a_database_that_machines_share_is_not_replaced_by_a_file
    [POSTGRESQL, { "databases" => [{}] }, {}].each do |solid|
      plan = plan(SOLID, solid:)
      refute_predicate plan, :changed?
      assert_match(%r{another cache on each machine.*--url=redis://HOST.*--url=sqlite:storage}, plan.notes.join)
    end
    assert_match(/PostgreSQL \(cache in config/, plan(SOLID, solid: POSTGRESQL).notes.join)
    statement, = statements(SOLID, solid: { **POSTGRESQL, "store_options" => { "max_age" => 60, "namespace" => "n" } },
                                   url: "rediss://a")
    assert_equal 'config.cache_store = :tiercel_store, "rediss://a", { expires_in: 60, namespace: "n" }', statement
  end

  def test_the_file_is_never_solid_caches_own
    solid = { "databases" => [{ "adapter" => "sqlite3", "database" => "storage/cache.sqlite3" }] }
    assert_includes statements(SOLID, solid:).first, '"sqlite:storage/tiercel.sqlite3"'
  end

  CONDITION = <<-RUBY
  if ENV["REDIS_URL"]
    config.cache_store = :redis_cache_store, { url: ENV["REDIS_URL"] }
  else
    config.cache_store = :null_store
  end
  RUBY

  def test_a_condition_is_kept_with_its_branches
    text = plan(CONDITION).text
    assert_empty Prism.parse(text).errors
    kinds = Tiercel::Generators::CurrentStore.all(text).map(&:kind)
    assert_equal %i[tiercel_store null_store], kinds
    assert_match(/if ENV\["REDIS_URL"\]\n.*ENV\.fetch\("REDIS_URL".*else\n *config.cache_store = :null/m, text)
    assert_equal plan(CONDITION).file.text, Tiercel::Generators::MarkedText.undone(text)
    two = plan(CONDITION.sub(":null_store", ":memory_store"))
    assert_equal %i[tiercel_store tiercel_store], Tiercel::Generators::CurrentStore.all(two.text).map(&:kind)
    assert_equal two.file.text, Tiercel::Generators::MarkedText.undone(two.text)
  end

  def test_a_condition_behind_the_statement_is_kept
    plan = plan("  config.cache_store = :redis_cache_store, { url: ENV['R'] } if ENV['R'].present?\n")
    assert_match(%r{:tiercel_store, ENV.fetch\("R", "redis://localhost:6379/0"\) if ENV\['R'\].present\?$}, plan.text)
    choice = plan("  config.cache_store = ENV['R'] ? [:redis_cache_store, { url: ENV['R'] }] : :memory_store\n")
    refute_predicate choice, :changed?
    assert_match(/an expression/, choice.notes.join)
  end

  def test_a_url_for_several_places_is_refused
    plan = plan(CONDITION, url: "redis://a")
    refute_predicate plan, :changed?
    assert_match(/lines 3, 5.*by hand.*"redis:\/\/a"/, plan.notes.join)
  end

  def test_a_store_of_all_environments
    application = "class A\n  config.cache_store = :mem_cache_store, 'a:1'\nend\n"
    plan = plan("  config.x = 1\n", application:)
    assert_match(%r{x = 1\n\n.*\n  config.cache_store = :tiercel_store, "memcached://a:1"\n.*\nend\n\z}, plan.text)
    assert_equal plan.file.text, Tiercel::Generators::MarkedText.undone(plan.text)
    conditional = plan("  config.x = 1\n", application: CONDITION)
    refute_predicate conditional, :changed?
    assert_match(/under a condition/, conditional.notes.join)
  end

  def test_an_environment_without_a_store_gets_one
    assert_equal ["config.cache_store = :tiercel_store"], statements("  # config.cache_store = 1\n")
    behind = Plan.new("Rails.application.configure do\nend\n\n# The end.\n")
    assert_equal "# The end.", behind.text.lines.last.chomp
    assert_equal 1, Tiercel::Generators::CurrentStore.all(behind.text).size
    odd = Plan.new("load 'other.rb'\n")
    refute_predicate odd, :changed?
    assert_match(/by hand: config.cache_store = :tiercel_store/, odd.notes.join)
  end

  def test_another_cache_store_is_another_setting
    assert_equal ["config.cache_store = :tiercel_store"], statements("  config.action_controller.cache_store = :x\n")
  end

  def test_the_notes_say_what_each_tier_needs
    template = File.read(File.expand_path("../../lib/generators/tiercel/install/templates/tiercel.md.tt", __dir__))
    headings = {
      ":solid_cache_store" => ["Space in /dev/shm", "Location"], ":memory_store" => ["Space in /dev/shm"],
      ":file_store" => ["Location"], ":redis_cache_store" => ["The server"]
    }
    headings.each do |store, expected|
      text = ERB.new(template, trim_mode: "-").result_with_hash(plan: plan("  config.cache_store = #{store}\n"))
      assert_equal [*expected, "Inspecting it"], text.scan(/^## (.*)/).flatten
      refute_match(/\n{3}/, text)
      assert_equal store == ":memory_store", text.include?("a deploy starts cold"), "a last tier outlives a container"
      assert_match(/tiercel:doctor.*tiercel:top.*Tiercel::Web.*a separate one in each process/m, text)
    end
  end

  def test_tests_in_threads_are_noticed
    helper = ->(text, *paths) { Tiercel::Generators::TestHelperFile.new(text, paths) }
    assert_predicate helper["  parallelize(workers: 2, with: :threads)\n"], :threads?
    assert_predicate helper["  parallelize(\n    workers: 2,\n    with: :threads\n  )\n"], :threads?
    refute_predicate helper["  parallelize(workers: :number_of_processors)\n"], :threads?
    with_tmpdir do |dir|
      File.write(path = File.join(dir, "a_test.rb"), "parallelize with: :threads\n")
      assert_predicate helper["", path], :threads?
    end
  end

  def test_a_test_class_on_one_line_is_left
    text = "class ActiveSupport::TestCase; parallelize; end\n"
    assert_equal text, Tiercel::Generators::TestHelperFile.new(text).with_clear
  end
end
