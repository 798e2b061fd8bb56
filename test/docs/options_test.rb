# frozen_string_literal: true

# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"

# Every option of our own has a row in a table of the docs, and there are at most 35 of them.
class OptionsPageTest < Tiercel::TestCase
  DOCS = Dir[File.expand_path("../../docs/*.md", __dir__)].freeze
  SCHEMES = %i[null memory shared file sqlite memcached redis].freeze

  def backend_options = SCHEMES.flat_map { |scheme| Tiercel::Backends::REGISTRY.fetch(scheme).option_names }
  def own_options = (Tiercel::Configuration::STORE_OPTIONS + backend_options + %i[ttl bus]).uniq

  def test_every_option_has_a_row
    rows = DOCS.flat_map { |page| File.readlines(page).grep(/\A\| `/) }.map { |row| row.split(" | ").first }
    documented = rows.flat_map { |cell| cell.scan(/`(\w+)`/) }.flatten.map(&:to_sym)
    assert_empty own_options - documented
  end

  def test_there_are_few_of_them
    assert_operator (own_options - ActiveSupport::Cache::UNIVERSAL_OPTIONS).size, :<=, 35
  end
end
