# frozen_string_literal: true

module Tiercel
  module Contracts
    module TagsContract
      # Invalidations while the block runs, with and without leases.
      module Fetching
        # Seconds: shorter than a lease, but much longer than any operation.
        PATIENCE = 60
        LEASE_TTL = 600

        # Defines the test twice: with and without leases.
        def self.in_both_ways(name, &body)
          { with_leases: true, without: false }.each do |kind, lease|
            define_method(:"#{name}_#{kind}") do
              @store = new_store(lease: lease, lease_ttl: LEASE_TTL)
              instance_exec(&body)
            end
          end
        end
        private_class_method :in_both_ways

        def test_fetch_computes_what_was_invalidated_anew
          runs = 0
          2.times { assert_equal(1, store.fetch("name", tags: ["tag"]) { runs += 1 }) }
          store.invalidate_tags("tag")
          2.times { assert_equal(2, store.fetch("name", tags: ["tag"]) { runs += 1 }) }
          2.times { assert_equal(2, store.fetch("name") { runs += 1 }) }
        end

        def test_fetch_multi_too
          made = []
          block = ->(name) { made << name; name }
          2.times { assert_equal({ "a" => "a", "b" => "b" }, store.fetch_multi("a", "b", tags: ["tag"], &block)) }
          store.write("b", "written", tags: ["other"])
          store.invalidate_tags("tag")
          assert_equal({ "a" => "a", "b" => "written" }, store.fetch_multi("a", "b", tags: ["tag"], &block))
          assert_equal %w[a b a], made
        end

        in_both_ways(:test_what_was_invalidated_while_its_block_ran_is_not_read) do
          assert_equal("old", store.fetch("name", tags: ["tag"]) { invalidated("tag") { "old" } })
          assert_nil store.read("name")
          assert_equal("new", store.fetch("name", tags: ["tag"]) { "new" })
          assert_equal "new", store.read("name")
        end

        in_both_ways(:test_the_same_of_several_and_of_what_is_forced) do
          store.fetch_multi("a", "b", tags: ["tag"]) { invalidated("tag") { "old" } }
          assert_empty store.read_multi("a", "b")
          store.fetch("c", force: true, tags: ["tag"]) { invalidated("tag") { "old" } }
          assert_nil store.read("c")
        end

        in_both_ways(:test_tags_that_the_block_sets_protect_from_then_on) do
          store.fetch("name") do |_, options|
            options.tags = ["tag"]
            options.tags += [:more]
            assert_equal %w[tag more], options.tags
            invalidated("tag") { "old" }
          end
          assert_nil store.read("name")
          store.fetch("name", tags: ["tag"]) { |_, options| options.tags += ["more"]; "new" }
          assert_equal "new", store.read("name")
          store.invalidate_tags("more")
          assert_nil store.read("name")
        end

        # An invalidation of the call's own tags counts from the beginning of the call, even if the block sets other
        # tags.
        in_both_ways(:test_tags_of_the_call_protect_from_before_the_block) do
          store.fetch("name", tags: ["tag"]) do |_, options|
            invalidated("tag") { options.tags = %w[tag more] }
            "old"
          end
          assert_nil store.read("name")
        end

        in_both_ways(:test_who_reads_after_an_invalidation_is_not_given_what_began_before) do
          [{ tags: ["tag"] }, {}].each do |options|
            name = "name/#{options.size}"
            began = Queue.new
            finish = Queue.new
            old = Thread.new { store.fetch(name, options) { |_, own| own.tags = ["tag"]; began << 1; finish.pop } }
            began.pop
            store.invalidate_tags("tag")
            fresh = Thread.new { store.fetch(name, options) { |_, own| own.tags = ["tag"]; "new" } }
            eventually { fresh.stop? }
            finish << "old"
            assert_equal %w[old new], [old.value, fresh.value]
            refute_equal "old", store.read(name)
          end
        end

        # Callers never wait for a computation whose tags have since been invalidated.
        in_both_ways(:test_who_reads_after_an_invalidation_does_not_wait_for_what_began_before) do
          began = Queue.new
          finish = Queue.new
          old = Thread.new { store.fetch("name", tags: %w[a b]) { began << 1; finish.pop } }
          began.pop
          store.invalidate_tags("b")
          fresh = Thread.new { store.fetch("name", tags: %w[a b]) { "new" } }
          assert fresh.join(PATIENCE), "it waits for a block whose value is of no use"
          finish << "old"
          assert_equal %w[old new], [old.value, fresh.value]
          assert_equal("new", store.fetch("name", tags: %w[a b]) { "new" })
        end

        def test_tags_that_a_block_sets_are_in_the_namespace_of_the_call
          space = "one"
          named = new_store(namespace: -> { space })
          named.fetch("name") { |_, options| (space = "two") && options.tags = ["t"] }
          space = "one"
          assert_equal ["t"], named.read("name")
          named.invalidate_tags("t")
          assert_nil named.read("name")
        end

        # The leader's thread ends; the follower computes with the generations of now.
        def test_who_takes_over_records_what_was_invalidated_while_it_waited
          store = @store = new_store(lease: true, lease_ttl: LEASE_TTL)
          began = Queue.new
          leader = Thread.new { store.fetch("name", tags: ["t"]) { began << 1; sleep } }
          began.pop
          follower = Thread.new { store.fetch("name", tags: ["t"]) { "new" } }
          eventually { store.stats[:followers] == 1 }
          new_store.invalidate_tags("t")
          leader.kill
          assert_equal %w[new new], [follower.value, store.read("name")]
        end

        def test_nor_does_another_process
          needs_processes
          store = @store = new_store(lease: true, lease_ttl: LEASE_TTL)
          child = process do
            store.fetch("name", tags: ["tag"]) { note("began") && sleep }
          end
          eventually { notes.include?("began") }
          store.invalidate_tags("tag")
          fresh = Thread.new { store.fetch("name", tags: ["tag"]) { "new" } }
          assert fresh.join(PATIENCE), "it waits for a block whose value is of no use"
          assert_equal %w[new new], [fresh.value, store.read("name")]
        ensure
          end_process(child) if child
        end

        private

        # Another caller invalidates the tag before the block runs.
        def invalidated(tag)
          Thread.new { store.invalidate_tags(tag) }.join
          yield
        end
      end
    end
  end
end
