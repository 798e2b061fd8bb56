# frozen_string_literal: true

# The faults of `rake mutants`: test/support/mutants.rb. Each names the promise that it breaks.

# --- views ---

mutant "a fragment's miss takes the flight and the lease", "lib/tiercel/fragments.rb",
       "return super unless Tiercel::Fragments.serve?(store)\n      key =", "return super\n      key =",
       tests: "test/views/fragments_test.rb"
mutant "views never refresh in the background", "lib/tiercel/fragments.rb",
       "options ? { **options, **INLINE } : INLINE", "options || {}", tests: "test/views/fragments_test.rb"
mutant "the event of the write encloses the write", "lib/tiercel/fragments.rb",
       "Tiercel::Fragments.options(options), storing: writing) do", "Tiercel::Fragments.options(options)) do",
       tests: "test/views/fragments_test.rb"
mutant "an item has its own tags", "lib/tiercel/fragments.rb",
       "write_options.tags = tags.call(items[name]) if tags", "nil", tests: "test/views/collections_test.rb"
mutant "only missing items are rendered", "lib/tiercel/fragments.rb",
       "missing = items.except(*found.keys)", "missing = items", tests: "test/views/collections_test.rb"
mutant "a record is one tag for its life", "lib/tiercel/store/tags.rb",
       '"#{tag.model_name.cache_key}/#{tag.id}"', "expanded_key([tag, tag.updated_at.to_s])",
       tests: "test/views/model_tags_test.rb"
mutant "a rollback invalidates nothing", "lib/tiercel/model_tags.rb", "after_commit do", "after_save do",
       tests: "test/views/model_tags_test.rb"
mutant "an encrypted Solid Cache stays", "lib/generators/tiercel/install/install_generator.rb",
       "if kind == :solid_cache_store && (file = encrypted)", "if kind == :none && (file = encrypted)",
       tests: "test/generators/install_test.rb"
mutant "cas compares", "lib/tiercel/store/compare_and_set.rb",
       "@settings.backend.compare_and_set(key, bytes, token, ttl)", "@settings.backend.set(key, bytes, ttl)",
       tests: "test/store/contract_on_disk_test.rb"
# --- sqlite:, file: and tiers ---

mutant "sqlite: compare_and_set ignores the token", "lib/tiercel/backends/sqlite/connection.rb",
       " AND version = ?8\"", " AND ?8 = ?8\"", tests: "test/backends/sqlite_test.rb"
mutant "sqlite: an overwrite counts as new bytes", "lib/tiercel/backends/sqlite/connection.rb",
       "@inserted == id && before != id", "@inserted == id", tests: "test/backends/sqlite_test.rb"
mutant "sqlite: a child uses its parent's connection", "lib/tiercel/backends/sqlite.rb",
       "if current&.own?", "if current", tests: "test/backends/sqlite_test.rb"
mutant "sqlite: nobody shortens the log", "lib/tiercel/backends/sqlite.rb",
       "    shorten_log\n  end", "  end", tests: "test/backends/sqlite_test.rb"
mutant "sqlite: a database without our id is a cache", "lib/tiercel/backends/sqlite/cache_file.rb",
       "return if id == APPLICATION_ID ||", "return if id ||", tests: "test/backends/sqlite/cache_file_test.rb"
mutant "file: the ledger forgets removals", "lib/tiercel/backends/file.rb",
       "note(ledger, path, -blocks(size || 0), -1)", "nil", tests: "test/backends/file_test.rb"
mutant "file: add overwrites", "lib/tiercel/backends/file.rb",
       "{ |path| !present(path, key, now, whole: false) }", "{ |path| true || path }", tests: "test/backends/file_test.rb"
mutant "tiers: a delete that was not confirmed leaves the near copy", "lib/tiercel/tiers/stack_accessor.rb",
       "          @tier.forget(keys)\n", "", tests: "test/tiers/outage_test.rb"
mutant "tiers: a pending key is read from the last tier", "lib/tiercel/tiers.rb",
       "return yield unless @undelivered&.any? && @undelivered.pending([key]).any?", "return yield",
       tests: "test/tiers/outage_races_test.rb"
mutant "tiers: generations have no near copies", "lib/tiercel/tiers/copy.rb",
       "bytes.bytesize == GENERATION_BYTES &&", "false &&", tests: "test/tiers/tagged_copies_test.rb"
mutant "tiers: any eight bytes are a generation", "lib/tiercel/tiers/copy.rb",
       " && key.b.include?(GENERATION_KEY)", "", tests: "test/tiers/tagged_copies_test.rb"

# --- fetch and leases ---

mutant "a block's value beside a stale lineage is stored", "lib/tiercel/leases/placeholders.rb",
       "return false unless there&.same_lineage?(lease)", "return false unless there",
       tests: "test/leases_test.rb"
mutant "a release that is pushed while the thread ends is lost", "lib/tiercel/background_thread.rb",
       "@lock.synchronize { launch unless running? }", "@lock.try_lock && (launch unless running?; @lock.unlock)",
       tests: "test/leases/release_queue_test.rb"
mutant "an interrupted take keeps its lease", "lib/tiercel/fetch.rb",
       "@leases.abandon(lease) if lease", "nil",
       tests: "test/store/fetch/interrupted_test.rb"
mutant "a follower inherits no tags", "lib/tiercel/fetch.rb",
       "pass_on_tags(other) if other.tagged?", "nil",
       tests: "test/store/fetch/inherited_tags_test.rb"
mutant "an inner entry's tags stay with it", "lib/tiercel/fetch.rb",
       "pass_on_tags(miss) if miss.tagged?", "nil",
       tests: "test/store/fetch/inherited_tags_test.rb"
mutant "the later generation of an inherited tag wins", "lib/tiercel/fetch/miss.rb",
       "@lost = true unless inherited == own # the tag was invalidated while the block ran", "nil",
       tests: "test/store/fetch/inherited_tags_test.rb"
mutant "the segment's own comparison of tags serves a block", "lib/tiercel/accessors/native.rb",
       "return super if Fetch.inside? # a block", "return super if false # a block",
       tests: "test/store/fetch/inherited_tags_test.rb"
mutant "a delete that was not delivered leaves the block shared", "lib/tiercel/fetch.rb",
       "undelivered.pending([miss.key, *miss.options[:tags]&.keys]).empty?", "true",
       tests: "test/store/fetch/outage_test.rb"
mutant "callers wait for a fiber of their own thread", "lib/tiercel/fetch/miss.rb",
       "@thread.equal?(Thread.current) && (@by_hand || Fiber.current_scheduler.nil?)", "false",
       tests: "test/store/fetch/fiber_scheduler_test.rb"
