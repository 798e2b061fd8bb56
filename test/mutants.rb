# frozen_string_literal: true

# The faults of `rake mutants`: test/support/mutants.rb. Each names the promise that it breaks.

# --- views ---

mutant "a fragment's miss takes the flight and the lease", "lib/tiercel/fragments.rb",
       "return super unless Tiercel::Fragments.serve?(store) && Tiercel::Fragments.unchanged?(controller)",
       "return super unless false", tests: ["test/views/fragments_test.rb", "-n", "/invalidation/"]
mutant "views never refresh in the background", "lib/active_support/cache/tiercel_store.rb",
       "{ **options.to_h, refresh: :inline }", "options", tests: "test/views/fragments_test.rb"
mutant "an item has its own tags", "lib/tiercel/fragments.rb",
       'of_item.each { |option, value| write_options.public_send(:"#{option}=", value.call(items[name])) }', "itself",
       tests: ["test/views/collections_test.rb", "-n", "/of_each_item/"]
mutant "only missing items are rendered", "lib/tiercel/fragments.rb", "missing = items.except(*found.keys)",
       "missing = items.dup", tests: "test/views/collections_test.rb"
mutant "a value has the version from before its block", "lib/tiercel/fetch.rb",
       "kept = own[:version] == miss.options[:version]", "kept = own.equal?(miss.options)",
       tests: "test/views/changes_test.rb"
mutant "a record is one tag for its life", "lib/tiercel/store/tags.rb", '"#{tag.model_name.cache_key}/#{tag.id}"',
       "expanded_key([tag, tag.updated_at.to_s])", tests: "test/views/model_tags_test.rb"
mutant "a rollback invalidates nothing", "lib/tiercel/model_tags.rb", "after_commit do", "after_save do",
       tests: "test/views/model_tags_test.rb"
mutant "an encrypted Solid Cache stays", "lib/generators/tiercel/install/install_generator.rb",
       "if present&.match?(/solid/) && encrypted?", "if false", tests: "test/generators/install_test.rb"
mutant "cas compares", "lib/tiercel/store/compare_and_set.rb",
       "@settings.backend.compare_and_set(key, bytes, token, ttl)", "@settings.backend.set(key, bytes, ttl)",
       tests: "test/store/contract_on_disk_test.rb"
# --- sqlite:, file: and tiers ---

mutant "sqlite: compare_and_set ignores the token", "lib/tiercel/backends/sqlite/connection.rb", " AND version = ?8\"",
       " AND ?8 = ?8\"", tests: "test/backends/sqlite_test.rb"
mutant "sqlite: a child uses its parent's connection", "lib/tiercel/backends/sqlite.rb", "if current&.own? &&",
       "if current &&"
mutant "sqlite: nobody shortens the log", "lib/tiercel/backends/sqlite.rb",
       "attempt(patience_seconds: PATIENCE_SECONDS, &:shorten_log)", "itself"
mutant "sqlite: a database without our id is a cache", "lib/tiercel/backends/sqlite/cache_file.rb",
       "(id == APPLICATION_ID || ours)", "id"
mutant "file: the ledger forgets removals", "lib/tiercel/backends/file.rb", "note(ledger, path, -freed, -1)",
       "note(ledger, path, 0, 0)"
mutant "a child keeps the lock of its parent", "lib/tiercel/file_lock.rb", "    file.flock(::File::LOCK_UN)\n", ""
mutant "file: add overwrites", "lib/tiercel/backends/file.rb", " unless present(path, key, now, whole: false)\n", "\n",
       tests: ["test/backends/file_test.rb", "-n", "/test_add/"]
mutant "tiers: a delete that was not confirmed leaves the near copy", "lib/tiercel/tiers.rb",
       "          @tier.forget(keys)\n", "", tests: "test/tiers/outage_test.rb"
mutant "tiers: a pending key is read from the last tier", "lib/tiercel/tiers.rb",
       "@undelivered&.any? && @undelivered.pending([key]).any?", "false", tests: "test/tiers/outage_races_test.rb"
mutant "tiers: generations have no near copies", "lib/tiercel/tiers/near.rb", "bytes.bytesize == GENERATION_BYTES &&",
       "false &&", tests: "test/tiers/tagged_copies_test.rb"
mutant "tiers: any eight bytes are a generation", "lib/tiercel/tiers/near.rb", " && key.b.include?(GENERATION_KEY)", "",
       tests: "test/tiers/tagged_copies_test.rb"
mutant "tiers: touch leaves the near copy", "lib/tiercel/tiers.rb",
       "touch(key, ttl) = @near.change([key]) { @last.touch(key, ttl) }", "touch(key, ttl) = @last.touch(key, ttl)",
       tests: "test/tiers/backend_contract_test.rb"

# --- fetch and leases ---

mutant "a block's value beside a stale lineage is stored", "lib/tiercel/leases/placeholders.rb",
       "return false unless there&.same_lineage?(lease)", "return false unless there",
       tests: "test/contracts/backend_contract_test.rb"
mutant "a release that is pushed while the thread ends is lost", "lib/tiercel/background_thread.rb",
       "@lock.synchronize { launch unless running? }", "@lock.try_lock && (launch unless running?; @lock.unlock)",
       tests: "test/leases/release_queue_test.rb"
mutant "an interrupted take keeps its lease", "lib/tiercel/fetch.rb",
       "@leases.release(lease, stale_ttl: miss.stale_ttl)", "nil", tests: "test/store/fetch/interrupted_test.rb"
mutant "a follower inherits no tags", "lib/tiercel/fetch.rb", "pass_on_tags(other) if other.tagged?", "itself",
       tests: "test/store/fetch/inherited_tags_test.rb"
mutant "an inner entry's tags stay with it", "lib/tiercel/fetch.rb", "pass_on_tags(miss) if miss.tagged?", "itself",
       tests: "test/store/fetch/inherited_tags_test.rb"
mutant "the later generation of an inherited tag wins", "lib/tiercel/fetch/miss.rb",
       "@lost = true unless inherited == own # the tag was invalidated while the block ran", "inherited == own || own",
       tests: "test/store/fetch/inherited_tags_test.rb"
mutant "the segment's own comparison of tags serves a block", "lib/tiercel/accessor.rb",
       "would not return them.\n      return super if @runtime.blocks > 0",
       "would not return them.\n      return super if false", tests: "test/store/fetch/inherited_tags_test.rb"
mutant "a delete that was not delivered leaves the block shared", "lib/tiercel/fetch.rb",
       "pending.nil? || pending.empty?", "pending || true", tests: "test/store/fetch/outage_test.rb"
mutant "the inner of two fragments of one key stays", "lib/tiercel/fetch.rb",
       "(other.flying unless Flights.held.include?(other))", "other.flying", tests: "test/views/fragments_test.rb"
mutant "callers share no block while a folder is locked", "lib/tiercel/fetch.rb", "pending.nil? || pending.empty?",
       "pending&.empty?", tests: "test/store/fetch/outage_test.rb"
mutant "callers wait for a fiber of their own thread", "lib/tiercel/fetch/miss.rb",
       "@thread.equal?(Thread.current) && (@by_hand || Fiber.current_scheduler.nil?)", "false",
       tests: "test/store/fetch/fiber_scheduler_test.rb"

# --- the segment ---

mutant "a fill is accepted after a delete in between", "ext/tiercel/segment/lease_table.c",
       "return tseg_swap(&slot->lineage, &lineage, 0); }", "return tseg_swap(&slot->lineage, &lineage, 0), true; }",
       native: "segment: leases, at stop points (AddressSanitizer)"
mutant "a slow block's lineage ends early", "ext/tiercel/segment/leases.c",
       "    if (kept_s < TSEG_LEASE_LEAST_KEPT_S) kept_s = TSEG_LEASE_LEAST_KEPT_S;\n", "",
       native: "segment: leases (AddressSanitizer)"
mutant "a very slow block's lineage ends early", "ext/tiercel/segment/leases.c", "TSEG_LEASE_OUTLIVES * ttl_ns",
       "ttl_ns", native: "segment: leases (AddressSanitizer)"
mutant "a slow block's placeholder ends early", "lib/tiercel/leases/placeholders.rb", "[OUTLIVES, ttl * 10].max", "ttl",
       tests: "test/contracts/backend_contract_test.rb"
mutant "a slow block's stale value ends early", "lib/tiercel/leases/segment.rb",
       "mine.ttl + [OUTLIVES, mine.ttl * 10].max)", "mine.ttl)", tests: "test/leases/segment_test.rb"
mutant "the memo admits without a price", "ext/tiercel/segment/memo.c", "price = TSEG_MEMO_PRICE_BYTES;", "price = 0;",
       tests: "test/segment/memo_bounds_test.rb"
mutant "a release wakes no waiter", "ext/tiercel/segment/leases.c", "        tseg_lease_signal(slot);\n    } else {",
       "    } else {", native: "segment: leases (AddressSanitizer)"
mutant "a namespaced clear leaves leases alive", "lib/tiercel/segment.rb", "        end_leases\n", "",
       tests: "test/leases/segment_test.rb"
mutant "a delete whose swap fails is lost", "ext/tiercel/segment/entries.c",
       "if (!tseg_swap(slots + i, &word, 0)) continue;\n                tseg_count_live",
       "if (!tseg_swap(slots + i, &word, 0)) break;\n                tseg_count_live", native: "segment: stop points"
mutant "a clear empties a shard that has new entries", "ext/tiercel/segment/shard.c",
       "&section->view.control->emptied, section->epoch);", "&section->view.control->emptied, section->epoch - 1);",
       native: "segment: operations (gcc)"
mutant "an append asks for 2 MB under the lock", "ext/tiercel/segment/log.c",
       "#define BACKED_AHEAD_BYTES (UINT64_C(64) << 10)", "#define BACKED_AHEAD_BYTES (UINT64_C(2) << 20)",
       native: "segment: what the system does to its file (AddressSanitizer)"
mutant "a read at the end of a TTL", "ext/tiercel/segment/read.c", "entry->expires_at > now;",
       "entry->expires_at >= now;", native: "segment: operations (gcc)"
mutant "expired entries are moved", "ext/tiercel/segment/log.c", "!(expires_at > section->now))", "!(expires_at > 0))",
       native: "segment: operations (gcc)"
mutant "the generation of a popular tag counts no hits", "ext/tiercel/segment/read.c",
       "    tseg_hit(segment, &(tseg_entry){.slot = known->slot, .word = word});\n", "",
       native: "segment: tags (AddressSanitizer)"
mutant "a walk at the end of a TTL", "ext/tiercel/segment/calls.c", "!(entry->expires_at > now)",
       "!(entry->expires_at >= now)", native: "segment: operations (gcc)"
mutant "a sequence wraps", "ext/tiercel/segment/entries.c", "old->sequence < TSEG_LAST_SEQUENCE && ", "",
       native: "segment: operations (gcc)"
mutant "a key shorter than the prefix is compared beyond its end", "ext/tiercel/segment/calls.c",
       "    if (entry->key_bytes < count) return false;\n", "", native: "segment: operations (gcc)"
mutant "foreign bytes under a tag's key count", "ext/tiercel/segment/read.c",
       "entry->value_bytes == TSEG_GENERATION_BYTES;", "true;", native: "segment: tags (AddressSanitizer)"
mutant "an abandoned near fill blocks its key", "ext/tiercel/segment/entries.c",
       "    if (change->published_odd)\n        tseg_store(", "    if (0)\n        tseg_store(",
       native: "segment: stop points"
mutant "a forgotten writer voids no fill", "ext/tiercel/segment/near.c",
       "if (!counted) ended += UINT64_C(1) << EPOCH_AT;", "if (!counted) ended += 0;",
       native: "segment: near fills (AddressSanitizer)"
mutant "256 writers overflow into the next counter", "ext/tiercel/segment/near.c",
       "if ((begun >> counter & COUNT_MASK) < COUNT_MASK) begun", "begun",
       native: "segment: near fills (AddressSanitizer)"
mutant "writers of a past period are not forgotten", "ext/tiercel/segment/near.c",
       "(uint64_t)COUNT_MASK << counter_at(now) : (uint64_t)COUNTS_MASK",
       "(uint64_t)COUNT_MASK << counter_at(now) : (uint64_t)COUNT_MASK << counter_at(now)",
       native: "segment: near fills (AddressSanitizer)"
mutant "a takeover clears the mark before the repair", "ext/tiercel/segment/shard.c",
       "        drop_half_written(section);\n        tseg_end_change(section);",
       "        uint64_t mark = tseg_load(&section->view.control->changing);\n        " \
         "tseg_end_change(section);\n        TSEG_STOP_HERE(TSEG_STOP_REPAIR);\n        " \
         "tseg_store(&section->view.control->changing, mark);\n        drop_half_written(section);\n      " \
         "  tseg_end_change(section);",
       native: "segment: repairs that are killed too"

# --- insight ---

mutant "words of few keys stay hidden", "tiercel-insight/lib/tiercel/insight/key_class.rb", "SHARED_BY = 20",
       "SHARED_BY = 1", tests: "tiercel-insight/test/collector_test.rb"
mutant "files of dead processes are added once", "tiercel-insight/lib/tiercel/insight/process_file.rb",
       'FileUtils.rm_f(["#{folder}/#{id}.json", "#{folder}/#{id}.reads"])', "nil",
       tests: "tiercel-insight/test/collector_test.rb"
mutant "a child counts anew", "tiercel-insight/lib/tiercel/insight/collector.rb",
       "@counts = Array.new(FIGURES.size, 0)", "@counts ||= Array.new(FIGURES.size, 0)"
mutant "blocks that wait longer belong to classes", "tiercel-insight/lib/tiercel/insight/collector.rb",
       "count_untimed(blocks) unless blocks.empty?", "itself"
mutant "exist? is no read", "lib/active_support/cache/tiercel_store.rb",
       "recount(backend, exists ? -1 : 0, exists ? 0 : -1)", "itself", tests: "tiercel-insight/test/collector_test.rb"
mutant "a caller of an audit keeps its variables", "tiercel-insight/lib/tiercel/insight/audit.rb",
       "hit.surroundings.restore", "nil"
mutant "an audit compares with a second run", "tiercel-insight/lib/tiercel/insight/audit.rb",
       "completed && value == fresh", "true"
mutant "a changed entry is not stale", "tiercel-insight/lib/tiercel/insight/audit.rb",
       "return unless @comparison.canonical(Tiercel::Insight.uncounted { hit.reread.call }) == cached", "nil"
mutant "an audit stores nothing", "tiercel-insight/lib/tiercel/insight/audit.rb",
       "next super(*arguments, **options, &block) unless", "next super(*arguments, **options, &block) if true ||"
mutant "values are masked", "tiercel-insight/lib/tiercel/insight/audit.rb", "def shown(value) = @values ? Tiercel",
       "def shown(value) = true ? Tiercel"
mutant "the page is closed", "tiercel-insight/lib/tiercel/insight/web/access.rb",
       "return Response.text(403, CLOSED) unless local?", "return if true", tests: "tiercel-insight/test/web_test.rb"
mutant "the ERB of deploy files is text", "tiercel-insight/lib/tiercel/insight/doctor/deployment.rb",
       "text = ::File.read(path)", "text = ERB.new(::File.read(path)).result"
mutant "predictions start from the measured ratio", "tiercel-insight/lib/tiercel/insight/worth.rb",
       "measured = @counted[:misses].fdiv([@counted[:reads], 1].max)", "measured = 0.0"

# --- the store ---

mutant "entries with invalidated tags are misses in a multi read", "lib/tiercel/store/reader.rb",
       " if part && recorded.nil?\n", " if false\n", tests: "test/store/tags_contract_test.rb"
mutant "generations that were guessed are compared", "lib/tiercel/store/tags/generations.rb", "(all || own <= read)",
       "(all || true)", tests: "test/store/tags_contract_test.rb"
mutant "007 is no counter", "lib/tiercel/counter.rb", "(?:0|-?[1-9]\\d{0,18})", "-?\\d{1,19}"
mutant "a class that loads a missing file", "lib/tiercel/coder/payload_reader.rb",
       "rescue StandardError, ScriptError, SystemStackError", "rescue StandardError",
       tests: "test/store/contract_test.rb"
mutant "a raw String that looks like a frame is framed", "lib/tiercel/store/writer.rb",
       "(String === value && !Tiercel::Frame.frame?(value))", "String === value", tests: "test/store/contract_test.rb"
mutant "a stub of a hook is noticed", "lib/active_support/cache/tiercel_store.rb",
       "def singleton_method_added(_name) = @patches&.check", "def singleton_method_added(_name) = nil",
       tests: "test/store/hooks_test.rb"
mutant "a subscription goes unnoticed", "lib/tiercel/store/subscriptions.rb", "%i[subscribe unsubscribe].to_h",
       "%i[unsubscribe].to_h"
mutant "an answer outlives a change", "lib/tiercel/store/subscriptions.rb", "{ @answer = Answer.new }",
       "{ @answer.unheard = nil }"

# --- failures, encryption, values ---

mutant "the cool-down has no maximum", "lib/tiercel/breaker.rb", "[@cool_down * 2, @max_cool_down].min",
       "@cool_down * 2"
mutant "the list of undelivered deletes has no bound", "lib/tiercel/undelivered.rb", "surplus.times { @due.shift }",
       "surplus"
mutant "a late request may revive a deleted key", "lib/tiercel/undelivered.rb",
       "@late[key] = @clock.call + LATE_SECONDS\n", "\n"
mutant "a key whose delete is pending is read", "lib/tiercel/guard.rb",
       "if reads?(method, key, keys) && (pending", "if false && (pending", tests: "test/undelivered_test.rb"
mutant "a list waits for a call of its process", "lib/tiercel/undelivered.rb", "    @thread.start\n", ""
mutant "what others have deleted is read after an outage", "lib/tiercel/undelivered.rb",
       "settling? ? keys :", "false ? keys :"
mutant "a child sends its parent's deletes", "lib/tiercel/undelivered.rb",
       "      forget unless Tiercel::Forks.current?(@process)\n      keys.each", "      keys.each"
mutant "the last key encrypts", "lib/tiercel/cipher.rb", "id = keys.each_key.first", "id = keys.keys.last"
mutant "a nonce is used twice", "lib/tiercel/cipher.rb", "nonce = Random.urandom(NONCE_BYTES)",
       'nonce = "\0".b * NONCE_BYTES'
mutant "plain entries are read beside encrypted ones", "lib/tiercel/cipher.rb", "return sealed if @accept_plain",
       "return sealed unless @accept_plain.nil?"
mutant "jitter lengthens a life", "lib/tiercel/store/writer.rb", "seconds * (1 - (rand * policy.jitter))",
       "seconds * (1 + (rand * policy.jitter))", tests: ["test/store/fetch_contract_test.rb", "-n", "/jitter/"]
mutant "race_condition_ttl ends after 300 s", "lib/tiercel/store/writer.rb", "race_condition_ttl.to_f * 2].max",
       "0].max", tests: ["test/store/contract_test.rb", "-n", "/MemoryTest/"]
mutant "a raw value of unless_exist is deleted after an outage", "lib/tiercel/store/writer.rb",
       "@coder.with_parts(bytes, key, exclusive: true)", "bytes", tests: "test/faults/undelivered_test.rb"
mutant "exist? takes a value away", "lib/active_support/cache/tiercel_store.rb",
       "      options = options.except(:delete) if options[:delete]\n", "",
       tests: ["test/store/contract_test.rb", "-n", "/MemoryTest/"]
mutant "a counter continues an invalidated number", "lib/tiercel/store/counter.rb",
       " || entry.expired? || @reader.outdated?(entry)", " || entry.expired?",
       tests: ["test/store/tags_contract_test.rb", "-n", "/counter/"]
mutant "skip_nil stores nil", "lib/tiercel/fetch/miss.rb", "return if value.nil? && options[:skip_nil]\n", "\n",
       tests: ["test/store/contract_test.rb", "-n", "/MemoryTest/"]
mutant "an error of the block serves no stale value", "lib/tiercel/fetch.rb", "return MISS unless lease&.stale\n",
       "return MISS unless lease&.stale && false\n", tests: ["test/store/fetch_contract_test.rb", "-n", "/stand/"]
mutant "clear forgets the namespace", "lib/active_support/cache/tiercel_store.rb",
       "@accessor.clear(key_prefix(merged_options(options)))", "@accessor.clear(nil)",
       tests: ["test/store/contract_test.rb", "-n", "/MemoryTest/"]
mutant "a released lease is waited for", "lib/tiercel/leases/placeholders.rb",
       "          return :released if lease.released?\n", "", tests: "test/contracts/backend_contract_test.rb"
mutant "a copy outlives its value", "lib/tiercel/tiers/near.rb", "longest = ttl && ttl < @ttl ? ttl : @ttl",
       "longest = @ttl"
mutant "a custom compressor has no limit", "lib/tiercel/compressors/custom.rb",
       "return inflated if inflated.bytesize <= limit", "return inflated if limit", tests: "test/coder/bombs_test.rb"
mutant "keys are shown", "lib/tiercel/key_mask.rb", '.force_encoding(Encoding::UTF_8) : "*"', " : key"
mutant "a test worker leaves its entries", "lib/tiercel/test_worker.rb",
       "      return unless @number\n      stores.each(&:clear)\n", "      return unless @number\n"
mutant "a checksum without its flag is accepted", "lib/tiercel/frame.rb",
       "Zlib.crc32(bytes.byteslice(HEADER_BYTES..)) : 0", "Zlib.crc32(bytes.byteslice(HEADER_BYTES..)) : crc",
       tests: "test/coder/payloads_test.rb"
mutant "a checksum without its flag is accepted in C", "ext/tiercel/codec/frame.c", "return header->crc32 == 0;",
       "return true;", tests: "test/coder/payloads_test.rb"
