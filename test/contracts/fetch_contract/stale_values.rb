# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # Expired values that may still be served.
      module StaleValues
        def test_within_stale_while_revalidate_one_refreshes_and_nobody_waits
          revalidating = stale_store(stale_while_revalidate: 60)
          later do
            refreshing = Queue.new
            finish = Queue.new
            refresher = Thread.new { revalidating.fetch("name", expires_in: 60) { refreshing << 1; finish.pop; "new" } }
            refreshing.pop
            others = in_threads(10) { revalidating.fetch("name") { flunk "one refreshes" } }
            assert_equal ["old"], others.uniq
            assert_nil revalidating.read("name"), "reads see a miss after the end"
            assert_equal({}, revalidating.read_multi("name"))
            finish << 1
            assert_equal "new", refresher.value
            assert_equal "new", revalidating.read("name")
          end
        end

        def test_fetch_multi_gets_it_too
          revalidating = stale_store(stale_while_revalidate: 60)
          later do
            refreshing = Queue.new
            finish = Queue.new
            refresher = Thread.new { revalidating.fetch_multi("name") { refreshing << 1; finish.pop; "new" } }
            refreshing.pop
            values = revalidating.fetch_multi("name", "other") { |name| name == "other" ? "made" : flunk }
            assert_equal({ "name" => "old", "other" => "made" }, values)
            finish << 1
            assert_equal({ "name" => "new" }, refresher.value)
          end
        end

        def test_in_the_background_not_even_one_waits
          revalidating = stale_store(stale_while_revalidate: 60, refresh: :background)
          later do
            finish = Queue.new
            assert_equal("old", revalidating.fetch("name") { finish.pop; "new" })
            assert_equal("old", revalidating.fetch("name") { flunk "one refreshes" })
            finish << 1
            eventually("no refresh") { revalidating.read("name") == "new" }
          end
        end

        def test_after_the_window_it_is_a_miss
          revalidating = stale_store(stale_while_revalidate: 20)
          MovedClock.by(70) { assert_raises(IOError) { revalidating.fetch("name") { raise IOError } } }
          MovedClock.by(81) { assert_equal("new", revalidating.fetch("name") { "new" }) }
        end

        def test_within_stale_if_error_the_old_value_stands_in_for_an_error
          lenient = stale_store(stale_if_error: 600)
          later do
            assert_equal("old", lenient.fetch("name") { raise IOError })
            assert_equal("old", lenient.fetch("name") { flunk "not again so soon" })
          end
          MovedClock.by(400) { assert_equal("old", lenient.fetch("name") { raise IOError }) }
          MovedClock.by(700) { assert_raises(IOError) { lenient.fetch("name") { raise IOError } } }
        end

        def test_it_stands_in_for_an_error_of_one_of_several
          lenient = stale_store(stale_if_error: 60)
          later do
            values = lenient.fetch_multi("name", "other") { |name| name == "name" ? raise(IOError) : name }
            assert_equal({ "name" => "old", "other" => "other" }, values)
            assert_equal "other", lenient.read("other")
            assert_equal("old", lenient.fetch("name") { flunk "not again so soon" })
            assert_raises(IOError) { lenient.fetch_multi("name", "third") { raise IOError } }
          end
        end

        def test_what_was_deleted_is_served_to_nobody
          lenient = stale_store(stale_while_revalidate: 60, stale_if_error: 60)
          lenient.delete("name")
          later { assert_raises(IOError) { lenient.fetch("name") { raise IOError } } }
        end

        def test_the_backend_keeps_for_the_window_what_may_be_served_in_it
          revalidating = stale_store(stale_while_revalidate: 3_600)
          *, left = revalidating.backend.compare_exchange(revalidating.stored_key("name"), "in its way", 60)
          assert left.nil? || left > 3_600, "#{left} s"
        end

        def test_jitter_brings_ends_forward
          spread = new_store(jitter: 0.5)
          srand(7)
          20.times { |index| spread.fetch("spread/#{index}", expires_in: 10_000) { 1 } }
          spread.write("written", 1, expires_in: 10_000, compress: false)
          spread.write_multi({ "several" => 1 }, expires_in: 10_000)
          spread.fetch("own") { |_, options| options.expires_in = 10_000 }
          alive = MovedClock.by(7_500) { Array.new(20) { |index| spread.exist?("spread/#{index}") } }
          assert_equal [false, true], alive.uniq.sort_by(&:to_s)
          names = %w[written several own]
          MovedClock.by(9_500) { assert_equal names, spread.read_multi(*names).keys }
        end

        def test_raw_bytes_are_kept_as_they_are_though_they_look_like_a_frame
          revalidating = new_store(stale_while_revalidate: 60, expires_in: 60)
          looks = Frame.build(Frame::Layout::TYPE_STRING_BINARY, "inside", expires_at: Clock.now + 60)
          revalidating.write("written", looks, raw: true)
          revalidating.fetch("fetched", raw: true) { looks }
          revalidating.fetch_multi("of several", raw: true) { looks }
          %w[written fetched].push("of several").each do |name|
            assert_equal looks, revalidating.read(name, raw: true).b, name
          end
        end

        private

        def stale_store(**options)
          new_store(**options).tap { |store| store.fetch("name", expires_in: 60) { "old" } }
        end

        def later(&) = MovedClock.by(61, &)
      end
    end
  end
end
