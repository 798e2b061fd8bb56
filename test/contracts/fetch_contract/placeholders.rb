# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # While a key's value is being computed, all other operations treat the key as absent.
      module Placeholders
        def test_reads_see_a_miss
          during_a_block do
            assert_nil store.read("name")
            assert_nil store.read("name", raw: true)
            assert_equal false, store.exist?("name")
            assert_equal({}, store.read_multi("name"))
            assert_equal({}, store.read_multi("name", raw: true))
          end
          assert_equal "computed", store.read("name")
        end

        def test_writes_go_in_its_place
          during_a_block { assert_equal true, store.write("name", "written", unless_exist: true) }
          assert_equal "written", store.read("name")
          during_a_block { assert_equal true, store.write("name", "raw", raw: true, unless_exist: true) }
          assert_equal "raw", store.read("name", raw: true)
          during_a_block { assert_equal 3, store.increment("name", 3) }
          assert_equal 4, store.increment("name")
        end

        def test_the_request_local_cache_does_not_keep_it
          skip "#{store.backend} needs no local cache" unless store.backend.local_cache?
          during_a_block do
            store.with_local_cache do
              assert_nil store.read("name")
              assert_nil store.local_cache.read_entry("name")
            end
          end
        end

        def test_what_fetch_stores_is_remembered
          skip "#{store.backend} needs no local cache" unless store.backend.local_cache?
          store.with_local_cache do
            store.fetch("single") { "made" }
            store.fetch_multi("a", "b", skip_nil: true) { |name| store.read("a") || name }
            assert_equal %w[a b single], %w[a b single other].select { |name| store.local_cache.read_entry(name) }
          end
        end

        def test_nothing_is_reported_of_it
          collector = Reports.new
          ActiveSupport.error_reporter.subscribe(collector)
          during_a_block { store.read("name") || store.read_multi("name") || store.exist?("name") }
          assert_empty collector.errors
        ensure
          ActiveSupport.error_reporter.unsubscribe(collector)
        end

        # Subscriber of ActiveSupport.error_reporter.
        class Reports
          attr_reader :errors

          def initialize = @errors = []
          def report(error, **) = @errors << error
        end
        private_constant :Reports

        private

        # Runs the block in a thread that started earlier, while another caller computes the value of "name".
        def during_a_block
          store.delete("name")
          computing = Queue.new
          other = Thread.new { computing.pop && yield }
          store.fetch("name") { computing << 1; other.join && "computed" }
        end
      end
    end
  end
end
