# frozen_string_literal: true

# The test suites of other gems that `rake other_gems` runs with Tiercel in place of the store that they build
# (test/README.md). Rails' own are run by `bin/test rails_behaviours`.
#
# suite NAME, "OWNER/REPOSITORY",
#   gems:        lines of its Gemfile
#   in_place_of: the class whose new objects become Tiercel's; the file that defines it
#   tests:       globs of test files; runs: :rspec or :minitest
#   control:     "memory_store" if the class is not one of Rails' stores: then Rails' MemoryStore is the control
#   expected:    { /test that fails with Tiercel alone/ => why that is no defect }

RAILS = '"~> 8.1.0"'
MEMORY_STORE = ["ActiveSupport::Cache::MemoryStore", "active_support/cache/memory_store"].freeze

suite "rack-attack", "rack/rack-attack", runs: :minitest, tests: ["spec/**/*_spec.rb"],
                                         in_place_of: MEMORY_STORE, gems: <<~GEMS
  gem "rails", #{RAILS}
  gem "rack-test"
  gem "rack", "~> 3.1"
  gem "minitest-stub-const"
  gem "timecop"
  gem "byebug"
GEMS

suite "flipper", "flippercloud/flipper", runs: :rspec, in_place_of: MEMORY_STORE,
  tests: %w[spec/flipper/adapters/active_support_cache_store_spec.rb spec/flipper/middleware/memoizer_spec.rb],
  gems: <<~GEMS
    gem "concurrent-ruby"
    gem "activesupport", #{RAILS}
    gem "rack-test"
    gem "rackup"
    gem "rack-session"
    gem "rack-protection"
    gem "sanitize"
    gem "erubi"
    gem "brow"
    gem "sequel"
    gem "sqlite3"
    gem "debug"
    gem "statsd-ruby"
    gem "webmock"
    gem "ice_age"
    gem "warning"
  GEMS

suite "prop", "zendesk/prop", runs: :minitest, tests: ["test/test_*.rb"], in_place_of: MEMORY_STORE, gems: <<~GEMS
  gem "activesupport", #{RAILS}
  gem "maxitest"
  gem "mocha"
  gem "rack"
GEMS

suite "i18n", "ruby-i18n/i18n", runs: :minitest, in_place_of: MEMORY_STORE,
  tests: %w[test/backend/cache_test.rb test/api/all_features_test.rb test/backend/memoize_test.rb],
  expected: { /test_it_uses_the_cache/ => "asks for the class MemoryStore",
              /test_still_raises_|test_MissingTranslationData_does_not/ => "looks into @data of MemoryStore" },
  gems: <<~GEMS
    gem "activesupport", #{RAILS}
    gem "mocha", "~> 2.0"
    gem "test_declarative", "0.0.6"
    gem "racc"
    gem "oj"
  GEMS

suite "faraday-http-cache", "sourcelevel/faraday-http-cache", runs: :rspec, tests: ["spec/**/*_spec.rb"],
  control: "memory_store", in_place_of: ["Faraday::HttpCache::MemoryStore", "faraday-http-cache"], gems: <<~GEMS
    gem "activesupport", #{RAILS}
    gem "faraday"
    gem "rackup"
    gem "sinatra"
    gem "webrick"
  GEMS

suite "jbuilder", "rails/jbuilder", runs: :minitest, tests: ["test/*_test.rb"], in_place_of: MEMORY_STORE,
                                    gems: <<~GEMS
  gem "rails", #{RAILS}
  gem "mocha"
GEMS

suite "identity_cache", "Shopify/identity_cache", runs: :minitest, tests: ["test/**/*_test.rb"],
  database: "identity_cache_test",
  in_place_of: ["ActiveSupport::Cache::MemCacheStore", "active_support/cache/mem_cache_store"], gems: <<~GEMS
    gem "activerecord", "~> 7.2.0"
    gem "ar_transaction_changes", "~> 1.1"
    gem "pg"
    gem "dalli", "~> 3.2.3"
    gem "connection_pool", "~> 2.5"
    gem "cityhash", "~> 0.6.0"
    gem "mocha", "~> 2.0"
    gem "spy", "~> 1.0"
  GEMS

suite "graphql-ruby-fragment_cache", "DmitryTsepelev/graphql-ruby-fragment_cache", runs: :rspec,
  tests: ["spec/**/*_spec.rb"], control: "memory_store",
  in_place_of: ["GraphQL::FragmentCache::MemoryStore", "graphql/fragment_cache/memory_store"], gems: <<~GEMS
    gem "rails", #{RAILS}
    gem "graphql", ">= 2.1.4"
    gem "graphql-batch"
    gem "combustion"
    gem "sqlite3"
    gem "benchmark"
    gem "ostruct"
    gem "parser"
    gem "unparser"
    gem "timecop"
  GEMS
