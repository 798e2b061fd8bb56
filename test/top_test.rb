# frozen_string_literal: true
# suites: store*

require "test_helper"
require "stringio"
require "tiercel"
require "tiercel/top"

class TopTest < Tiercel::TestCase
  def with_store(**options)
    with_tmpdir do |dir|
      store = Tiercel.new("shared:#{dir}/near", "file:#{dir}/far", **options)
      yield store
    ensure
      store&.close
    end
  end

  def test_a_screen_has_totals_tiers_and_classes
    with_store do |store|
      25.times { |index| store.fetch("post:#{index}") { "value" } }
      50.times { store.read("post:1") }
      text = Tiercel::Top.new(store.account).to_text
      assert_match(/^50 hits, 25 misses \(66\.7 % hits\)/, text)
      assert_match(/all processes/, text)
      assert_match(/^shared:.+ \d/, text)
      assert_match(/ 6 .*post:\*$/, text)
    end
  end

  def test_rates_are_those_since_the_last_screen
    with_store do |store|
      top = Tiercel::Top.new(store.account)
      store.read("nothing")
      top.to_text
      rates = top.to_text.lines[4].split
      assert_equal "0", rates[1]
    end
  end

  def test_where_the_output_is_no_terminal_there_is_one_screen
    with_store do |store|
      output = StringIO.new
      Tiercel::Top.new(store.account).run(output)
      refute_includes output.string, "\e"
      assert_equal 1, output.string.scan("Classes of keys").size
    end
  end

  def test_an_account_without_calls
    with_store do |store|
      assert_match(/none yet/, Tiercel::Top.new(store.account).to_text)
      assert_equal %i[totals last_minute period classes], Tiercel::Top.new(store.account).to_h.keys
    end
  end

  def test_hostile_names_reach_no_terminal
    with_store(namespace: "a\e[31m\u202Eb") do |store|
      store.read("\e]0;title\a\xFF:#{"x" * 1_000}")
      refute_match(/[\e\a\u202E]/, Tiercel::Top.new(store.account).to_text)
    end
  end
end
