# frozen_string_literal: true
# quick
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require_relative "../rakelib/options/options_table"

# The one table of options: conversion, messages, and its agreement with the tables of the docs.
class OptionsTest < Tiercel::TestCase
  Options = Tiercel::Options
  PAGES = { sqlite: "sqlite", file: "files", memcached: "memcached", redis: "redis", shared: "shared",
            near: "tiers" }.freeze
  FETCH = Tiercel::FetchPolicy::NAMES

  # --- values ---

  def test_values_of_a_url_are_strings
    values = Options.values(:redis, { timeout: "1.5", pool: "12", password: "12", other: 1 })
    assert_equal [1.5, { size: 12, timeout: 5.0 }, "12", nil], values.values_at(:timeout, :pool, :password, :other)
    assert_equal({ ttl: 30.0, bus: false }, Options.values(:near, { ttl: "30", bus: "false" }))
    assert_equal [1 << 30, 0.25], Options.values(:sqlite, { size: nil }).values_at(:size, :timeout)
    assert_equal({ size: 51 << 20, timeout: 2.0 }, Options.values(:file, { size: (51 << 20).to_s, timeout: 2 }))
  end

  def test_pools
    { nil => [5, 5.0], true => [5, 5.0], { size: "12", timeout: "1.5" } => [12, 1.5], "12" => [12, 5.0],
      { "size" => "3", "timeout" => "2" } => [3, 2.0], false => [nil, 5.0], "false" => [nil, 5.0] }.each do |pool, kept|
      assert_equal kept, Options.values(:memcached, { pool: })[:pool].values_at(:size, :timeout), pool.inspect
    end
    [0, -1, "many", { size: 0 }, { timeout: 0 }, { sise: 1 }, [], Object.new].each do |pool|
      error = assert_raises(Tiercel::ConfigurationError, pool.inspect) { Options.values(:memcached, { pool: }) }
      assert_match(/\Apool: expected \{ size:, timeout: \}, a number of connections > 0, or false, got /, error.message)
    end
  end

  def test_what_no_option_takes
    { timeout: [0, -1, "0", "soon", Float::NAN, Float::INFINITY, 1i, [], Object.new, true],
      connect_timeout: [0] }.each do |name, values|
      values.each do |value|
        error = assert_raises(Tiercel::ConfigurationError, value.inspect) { Options.values(:redis, { name => value }) }
        assert_match(/\A#{name}: expected .* got/, error.message)
      end
    end
    { lease_ttl: [0, "10", 1i], jitter: [-0.1, 1.1], refresh: [:later, "inline"], lease: [0, "true"],
      stale_if_error: [-1], max_key_size: [39, true], marshal: [0], checksum: ["yes"],
      frozen: [5, "true", { entries: 0 }], expires_in: [-1, "1h"] }.each do |name, values|
      values.each do |value|
        error = assert_raises(Tiercel::ConfigurationError, value.inspect) { Options.checked({ name => value }) }
        assert_match(/\A#{name}: expected .* got/, error.message)
      end
    end
    assert_equal 0.0, Options.checked({ stale_if_error: 0 })[:stale_if_error]
  end

  def test_ports
    read = ->(text) { Tiercel::BackendURL.host_and_port("x://h", text, 7) }
    assert_equal [["a", 7], ["a", 65_535], ["::1", 11_211], ["::1", 7], nil, nil],
                 %w[a a:65535 [::1]:11211 [::1] a:port a:1:2].map(&read)
    %w[a:0 a:65536 [::1]:99999].each do |place|
      error = assert_raises(Tiercel::ConfigurationError, place) { read.call(place) }
      assert_match(%r{\Ax://h: port \d+: expected 1 to 65535}, error.message)
    end
  end

  # --- names ---

  def own_options = [Options::STORE, *Options::BACKENDS.values].flat_map(&:keys).uniq

  def test_there_are_few_of_them
    assert_operator (own_options - ActiveSupport::Cache::UNIVERSAL_OPTIONS).size, :<=, 35
  end

  # `ssl` is an option of memcached alone, `ttl` and `bus` of near tiers.
  def test_no_name_is_known_and_gone
    assert_equal %i[bus ssl ttl], (own_options & Options::INSTEAD.keys).sort
    assert_empty Tiercel::Configuration::RAILS_OPTIONS & Options::INSTEAD.keys
  end

  # --- docs ---

  # @return [Hash{Symbol => String}] the cell with the default, by option, of a page's tables
  def defaults_on(page)
    text = File.read(File.expand_path("../docs/#{page}.md", __dir__))
    text.scan(/^\| option.*\n\| --- .*\n((?:\|.*\n)+)/).flatten.flat_map(&:lines).each_with_object({}) do |row, found|
      cells = row.delete_prefix("| ").split(/ *\| +/)
      default = cells[cells.size > 3 ? 2 : 1] # fetch.md has a column for the unit
      cells.first.scan(/`(\w+)`/).flatten.each { |name| found[name.to_sym] = default.delete("`") }
    end
  end

  def shown(default)
    case default
    when nil then "none"
    when Float then default.to_s.delete_suffix(".0")
    when Hash then "{ size: 5, timeout: 5 }"
    when Symbol then default.inspect
    when String then default.match?(/\A\d+[MG]B\z/) ? default.inspect : default
    else default.to_s
    end
  end

  def test_the_tables_of_backends
    PAGES.each do |kind, page|
      rows = defaults_on(page)
      assert_equal Options.of(kind).sort, rows.keys.sort, page
      Options::BACKENDS[kind].each do |name, (_, default)|
        assert_equal shown(default), rows[name], "#{name} in #{page}.md" unless default.nil? # then words say it
      end
    end
  end

  def test_the_table_of_all_options
    assert File.read(File.expand_path("../docs/store.md", __dir__)).include?(OptionsTable.text), "bin/exec rake options"
  end

  def test_the_tables_of_every_store
    store = defaults_on("store")
    assert_empty Options::STORE.keys - store.keys - %i[inherit_tags]
    assert_empty store.keys - Options::STORE.keys - Tiercel::Configuration::RAILS_OPTIONS
    { **Options::STORE.except(*FETCH), **Options::RAILS.slice(:max_key_size) }.each do |name, (_, default)|
      assert store[name].start_with?(shown(default)), "#{name}: #{store[name]} in store.md" unless default.nil?
    end
    fetch = defaults_on("fetch")
    assert_equal FETCH.sort, fetch.keys.sort
    FETCH.each { |name| assert_equal shown(Options::STORE[name].last), fetch[name] if Options::STORE[name].size == 2 }
  end
end
