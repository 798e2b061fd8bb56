# frozen_string_literal: true

require "socket"
require "timeout"

module Tiercel
  module Contracts
    module FetchContract
      # Blocks that return no value: waiting callers continue at once.
      module Failures
        # Errors of a block that Ruby's own methods raise, while they wait or compute.
        OWN_ERRORS = {
          frozen: -> { [].freeze.push(1) },
          name_resolution: -> { Addrinfo.getaddrinfo("none", 80, nil, :STREAM, nil, Socket::AI_NUMERICHOST) },
          of_a_thread: -> { Thread.new { Thread.current.report_on_exception = false; raise KeyError }.value },
          timeout_within: -> { Timeout.timeout(0.01) { sleep } },
          closed_stream: -> { IO.pipe.each(&:close).first.read },
        }.freeze
        # Ways to leave a block that say nothing about its value.
        INTERRUPTS = {
          timeout: ->(work) { Timeout.timeout(1) { work.call { sleep } } },
          throw: ->(work) { catch(:left) { work.call { throw :left } } },
          kill: ->(work) { work.call { Thread.current.kill } },
          interrupt: ->(work) { work.call { raise Interrupt } },
        }.freeze

        def test_what_the_block_raises_goes_to_those_who_wait_as_a_copy
          errors = in_threads(5) do
            store.fetch("raises") { others_wait(store); raise IOError, "no value" }
          rescue IOError => error
            error
          end
          assert_equal ["no value"], errors.map(&:message).uniq
          assert_equal 5, errors.map(&:object_id).uniq.size
          assert_equal("made", store.fetch("raises") { "made" })
        end

        # An error such as Enumerator#next raises. Ruby's `loop` would take it for its own end.
        def test_a_stop_iteration_goes_to_its_caller
          [{}, { tags: ["tag"] }].each do |options|
            assert_raises(StopIteration) { store.fetch("name", **options) { raise StopIteration } }
            assert_raises(StopIteration) { store.fetch_multi("name", **options) { raise StopIteration } }
          end
          stopped = in_threads(3) do
            store.fetch("shared") { others_wait(store); raise StopIteration }
          rescue StopIteration
            :stopped
          end
          assert_equal [:stopped], stopped.uniq
        end

        # The block fails once for all callers: a herd must not run at a failing upstream one after the other.
        OWN_ERRORS.each do |name, failing|
          define_method(:"test_an_error_of_the_block_goes_to_all_who_wait_#{name}") do
            runs = Queue.new
            errors = in_threads(4) do
              store.fetch("fails") { runs << 1; others_wait(store); failing.call }
            rescue StandardError => error
              error.class
            end
            assert_equal [1, 1], [runs.size, errors.uniq.size], errors
          end
        end

        INTERRUPTS.each do |name, way|
          define_method(:"test_an_interrupt_of_the_leader_is_nobody_elses_#{name}") do
            began, running = Queue.new, false
            leader = Thread.new do
              Thread.current.report_on_exception = false
              way.call(->(&rest) { store.fetch("key") { began << (running = true); rest.call } })
            rescue Timeout::Error, Interrupt
              retry unless running # the time was over before the block
            end
            assert began.pop(timeout: PATIENCE)
            followers = Array.new(3) { Thread.new { store.fetch("key") { "made" } } }
            assert_equal(["made"] * 3, followers.map(&:value))
            leader.join
            assert_equal "made", store.read("key")
          end
        end

        def test_a_block_that_raises_lets_other_processes_go_at_once
          needs_processes
          began = Clock.monotonic
          in_processes(6) do
            store.fetch("raises") { note("run"); others_call; raise IOError }
          rescue IOError
            note("raised")
          end
          assert_equal 6, notes.count("raised")
          assert_operator Clock.monotonic - began, :<, PATIENCE
        end

        def test_a_block_that_stores_nothing_lets_those_who_wait_go_with_its_value
          runs = Queue.new
          values = in_threads(5) { store.fetch("nothing", skip_nil: true) { runs << 1; others_wait(store); nil } }
          assert_equal [nil], values.uniq
          assert_equal 1, runs.size
          assert_equal false, store.exist?("nothing")
        end

        # The parent waits for its child, which waits for the lease of the parent.
        def test_a_process_that_forks_within_a_block_and_fetches_the_same_key
          needs_processes
          patient = new_store(lease_ttl: 60, lease_wait: 60)
          began = Clock.monotonic
          value = patient.fetch("same") do
            in_processes(1) { note patient.fetch("same") { "child" } }
            "parent"
          end
          assert_operator Clock.monotonic - began, :<, PATIENCE
          assert_equal %w[parent child], [value, *notes]
        end

        def test_fetch_multi_that_raises_lets_go_of_all_its_keys
          assert_raises(IOError) do
            store.fetch_multi("a", "b", "c") { |name| name == "b" ? raise(IOError) : name }
          end
          assert_equal({ "b" => "B", "c" => "C" }, store.fetch_multi("b", "c", &:upcase))
        end
      end
    end
  end
end
