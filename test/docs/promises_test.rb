# frozen_string_literal: true

# suites: kernel

require "test_helper"

# Every promise of the README has tests. The table below names them; the README names their files or folders.
class PromisesTest < Tiercel::TestCase
  ROOT = File.expand_path("../..", __dir__)
  README = File.read(File.join(ROOT, "README.md"))
  # By words of the README: file#test or file#class below test/. A name that ends with _ has more variants.
  TESTS = {
    "Rails' own suites pass" => %w[rails_behaviours/stores_test#BehavioursTestCase
                                   rails_behaviours/views_test#RailsViewsTest],
    "[differences](docs/store.md)" => %w[store/as_rails_test#test_ docs/store_page_test#test_checksums],
    "compute a missing value once in all processes" => %w[
      contracts/fetch_contract/single_flight#test_processes_run_the_block_of_a_cold_key_once
      views/herd_test#test_shared views/herd_test#test_a_collection
    ],
    "takes over 10 s" => %w[contracts/fetch_contract/slow_blocks#test_a_block_of_three_leases_],
    "or the server is down" => %w[faults/leases_test#test_a_server_that_is_gone_stops_nobody],
    "reads on this machine return no older value" => %w[
      contracts/tags_contract/entries#test_another_store_sees_it
      tiers/tagged_copies_test#test_an_invalidation_is_seen_at_once_by_every_process_of_the_machine
    ],
    "requests that had read the tag" => %w[contracts/tags_contract/entries#test_within_a_request_],
    "other machines follow within 3 s" => %w[
      tiers/tagged_copies_test#test_an_invalidation_of_another_machine_arrives_by_the_bus
      tiers/bus_test#test_while_the_server_is_away_copies_are_read_until_trust_ends
    ],
    "A cache that fails is a miss." => %w[faults/server_rows#test_killed_in_use faults/file_test#test_a_full_disk],
    "at most 0.25 s" => %w[faults/hung_rows#test_hung_ends_within_the_default_budget],
    "a `fetch` twice that" => %w[faults/hung_rows#test_a_connection_that_nobody_takes_is_late],
    "no time while the breaker is open" => %w[faults/hung_rows#test_hung_breaker],
    "A delete is not lost in an outage" => %w[
      faults/undelivered_test#test_a_deleted_value_does_not_come_back_with_the_server_
      undelivered_test#test_a_delete_that_met_an_outage_is_sent_before_the_next_read
    ],
    "the process ends first" => %w[undelivered_test#test_the_end_of_the_process_sends_the_list_or_reports_its_loss],
    "over 100,000 keys wait" => %w[undelivered_test#test_the_list_is_bounded_and_says_what_it_loses],
    "**Exact counters** in all processes" => %w[contracts/store_contract/counters#test_counting
                                                contracts/backend_contract/atomicity#test_processes_lose_no_increment],
    "during an outage they return nil" => %w[faults/remote_failures#assert_misses],
    "read Tiercel's entries as misses" => %w[store/rollback_test#test_rails_reads_our_frames_as_misses],
    "Tiercel reads the entries of Rails' stores" => %w[backends/rails_entries_test#test_redis],
    "every cached block around it a miss" => %w[views/russian_dolls_test#test_four_levels_on_each_backend],
    "it survives restarts and deploys" => %w[segment/place_test#test_in_rails_the_name_differs_by_application_],
    "the installation fails" => %w[packaging/without_compiler_test#test_the_source_gem_is_not_installed_],
    "32 MB in a Docker container" => %w[segment/place_test#test_the_default_size_is_bounded_by_what_is_free],
    "at most an eighth of `size`" => %w[segment/memo_budget_test#test_one_process_has_an_eighth_of_the_segment_],
    "works with any Rails cache store" => %w[../tiercel-insight/test/load_test#test_every_store_behind_puma],
  }.freeze

  def test_every_promise_has_tests
    promises = README[/^## What it promises\n(.*?)^## /m, 1].split(/^- /).drop(1)
    promises.map! { |promise| promise.split.join(" ") }
    assert_operator promises.size, :>=, 6
    promises.each do |promise|
      tests = TESTS.select { |words, _| promise.include?(words) }.values.flatten
      refute_empty tests, promise
      files = promise.scan(%r{`test/([\w/]+)[^`]*`}).flatten
      refute_empty files, promise
      files.each { |file| assert tests.any? { |test| test.start_with?(file) }, "#{promise}: no test of test/#{file}" }
    end
  end

  # A page that is followed to the letter must not lose jobs.
  def test_pages_with_an_evicting_redis_spare_sidekiq
    pages = Dir[File.join(ROOT, "{README,docs/*}.md")].map { |page| File.read(page) }
    pages = pages.grep(/allkeys-lru|REDIS_URL/)
    assert_operator pages.size, :>=, 3
    pages.each { |text| [/Sidekiq/, /noeviction/, /clear` without a namespace/].each { |one| assert_match one, text } }
  end

  def test_the_tests_exist
    TESTS.each do |words, tests|
      assert_includes README.split.join(" "), words
      tests.map { |test| test.split("#") }.each do |file, name|
        source = File.read(File.join(ROOT, "test/#{file}.rb"))
        defined = /(?:def|class|define_method\(:?"?) ?#{name}#{'\b' unless name.end_with?("_")}/
        assert source.match?(defined), "#{words}: test/#{file}.rb has no #{name}"
      end
    end
  end
end
