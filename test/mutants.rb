# frozen_string_literal: true

# The faults of `rake mutants`: test/support/mutants.rb. Each names the promise that it breaks.

# --- views ---

mutant "a fragment's miss takes the flight and the lease", "fragments.rb",
       "return super unless Tiercel::Fragments.serve?(store) && Tiercel::Fragments.unchanged?(controller)",
       "return super unless false", tests: ["views/fragments", "-n", "/invalidation/"]
mutant "views never refresh in the background", "lib/active_support/cache/tiercel_store.rb",
       "{ **options.to_h, refresh: :inline }", "options", tests: "views/fragments"
mutant "an item has its own tags", "fragments.rb",
       'of_item.each { |option, value| write_options.public_send(:"#{option}=", value.call(items[name])) }', "itself",
       tests: ["views/collections", "-n", "/of_each_item/"]
mutant "only missing items are rendered", "fragments.rb", ".except(*found.keys)", ".dup", tests: "views/collections"
mutant "a value has the version from before its block", "fetch.rb", "kept = own[:version] == miss.options[:version]",
       "kept = own.equal?(miss.options)", tests: "views/changes"
mutant "a record is one tag for its life", "store/tags.rb", '"#{tag.model_name.cache_key}/#{tag.id}"',
       "expanded_key([tag, tag.updated_at.to_s])", tests: "views/model_tags"
mutant "a rollback invalidates nothing", "model_tags.rb", "after_commit do", "after_save do", tests: "views/model_tags"
mutant "an encrypted Solid Cache stays", "lib/generators/tiercel/install/install_generator.rb",
       "if present&.match?(/solid/) && encrypted?", "if false", tests: "generators/install"
mutant "cas compares", "store/compare_and_set.rb", "@settings.backend.compare_and_set(key, bytes, token, ttl)",
       "@settings.backend.set(key, bytes, ttl)", tests: "store/contract_on_disk"
# --- sqlite:, file: and tiers ---

mutant "sqlite: compare_and_set ignores the token", "backends/sqlite/connection.rb", " AND version = ?8\"",
       " AND ?8 = ?8\"", tests: "backends/sqlite"
mutant "sqlite: a child uses its parent's connection", "backends/sqlite.rb", "if current&.own? &&", "if current &&"
mutant "sqlite: nobody shortens the log", "backends/sqlite.rb", "&:shorten_log", "&:itself"
mutant "sqlite: any database is a cache", "backends/sqlite/cache_file.rb", "(id == APPLICATION_ID || ours)", "id"
mutant "file: the ledger forgets removals", "backends/file.rb", "(ledger, path, -freed, -1)", "(ledger, path, 0, 0)"
mutant "a child keeps the lock of its parent", "file_lock.rb", "    file.flock(::File::LOCK_UN)\n", ""
mutant "file: add overwrites", "backends/file.rb", " unless present(path, key, now, whole: false)\n", "\n",
       tests: ["backends/file", "-n", "/test_add/"]
mutant "tiers: a delete that was not confirmed leaves the near copy", "tiers.rb", "          @tier.forget(keys)\n", "",
       tests: "tiers/outage"
mutant "tiers: a pending key is read from the last tier", "tiers.rb",
       "@undelivered&.any? && @undelivered.pending([key]).any?", "false", tests: "tiers/outage_races"
mutant "tiers: generations have no near copies", "tiers/near.rb", "bytes.bytesize == GENERATION_BYTES &&", "false &&",
       tests: "tiers/tagged_copies"
mutant "tiers: any eight bytes are a generation", "tiers/near.rb", " && key.b.include?(GENERATION_KEY)", "",
       tests: "tiers/tagged_copies"
mutant "tiers: touch leaves the near copy", "tiers.rb", "(key, ttl) = @near.change([key]) { @last.touch(key, ttl) }",
       "(key, ttl) = @last.touch(key, ttl)", tests: "tiers/backend_contract"
mutant "tiers: copies that are made during a clear stay", "tiers/near.rb",
       "near_end(nil, begun, true) } if begun\n      clear_copies(prefix)\n",
       "near_end(nil, begun, true) } if begun\n"
mutant "tiers: waiting callers get a value only if copies are trusted", "tiers.rb",
       "@segment.get_with_token(key, true) }", "@segment.get_with_token(key) }", tests: "tiers/outage_fetch"
mutant "tiers: the copies of a coverage that ended stay", "tiers/near.rb", "      uncover if @recorded\n", "",
       tests: "tiers/coverage"
mutant "tiers: copies are deleted for ever once another program was noticed", "tiers/watch.rb",
       "@noticed_ns && now_ns - @noticed_ns < NOTICING_NS ?", "@noticed_ns ?"
mutant "sqlite: expired entries are evicted like others", "backends/sqlite/housekeeping.rb",
       "expires_at && expires_at <= now ?", "false ?", tests: "backends/sqlite/room"

# --- fetch and leases ---

mutant "a block's value beside a stale lineage is stored", "leases/placeholders.rb",
       "false unless there&.same_lineage?(lease)", "false unless there", tests: "contracts/backend_contract"
mutant "a release that is pushed while the thread ends is lost", "background_thread.rb",
       "@lock.synchronize { launch unless running? }", "@lock.try_lock && (launch unless running?; @lock.unlock)",
       tests: "leases/release_queue"
mutant "an interrupted take keeps its lease", "fetch.rb", "@leases.release(lease, stale_ttl: miss.stale_ttl)", "nil",
       tests: "store/fetch/interrupted"
mutant "a follower inherits no tags", "fetch.rb", "if other.tagged?", "if false", tests: "store/fetch/inherited_tags"
mutant "an inner entry's tags stay with it", "fetch.rb", "pass_on_tags(miss) if miss.tagged?", "itself",
       tests: "store/fetch/inherited_tags"
mutant "the later generation of an inherited tag wins", "fetch/miss.rb",
       "@lost = true unless inherited == own # the tag was invalidated while the block ran", "inherited == own || own",
       tests: "store/fetch/inherited_tags"
mutant "the segment's own comparison of tags serves a block", "accessor.rb",
       "would not return them.\n      return super if @runtime.blocks > 0",
       "would not return them.\n      return super if false", tests: "store/fetch/inherited_tags"
mutant "a delete that was not delivered leaves the block shared", "fetch.rb", "pending.nil? || pending.empty?",
       "pending || true", tests: "store/fetch/outage"
mutant "the inner of two fragments of one key stays", "fetch.rb", "(other.flying unless Flights.held.include?(other))",
       "other.flying", tests: "views/fragments"
mutant "callers share no block while a folder is locked", "fetch.rb", "pending.nil? || pending.empty?",
       "pending&.empty?", tests: "store/fetch/outage"
mutant "callers wait for a fiber of their own thread", "fetch/miss.rb",
       "@thread.equal?(Thread.current) && (@by_hand || Fiber.current_scheduler.nil?)", "false",
       tests: "store/fetch/fiber_scheduler"

# --- the segment ---

mutant "a fill is accepted after a delete in between", "segment/lease_table.c", "(&slot->lineage, &lineage, 0); }",
       "(&slot->lineage, &lineage, 0), true; }", native: "segment: leases, at stop points (AddressSanitizer)"
mutant "a slow block's lineage ends early", "segment/leases.c", "kept_s = TSEG_LEASE_LEAST_KEPT_S;", "kept_s += 0;",
       native: "segment: leases (AddressSanitizer)"
mutant "a very slow block's lineage ends early", "segment/leases.c", "TSEG_LEASE_OUTLIVES * ttl_ns", "ttl_ns",
       native: "segment: leases (AddressSanitizer)"
mutant "a slow block's placeholder ends early", "leases/placeholders.rb", "[OUTLIVES, ttl * 10].max", "ttl",
       tests: "contracts/backend_contract"
mutant "a slow block's stale value ends early", "leases/segment.rb", "mine.ttl + [OUTLIVES, mine.ttl * 10].max)",
       "mine.ttl)", tests: "leases/segment"
mutant "the memo admits without a price", "segment/memo.c", "TSEG_MEMO_PRICE_BYTES;", "0;", tests: "segment/memo_bounds"
mutant "a release wakes no waiter", "segment/leases.c", "        tseg_lease_signal(slot);\n    } else {",
       "    } else {", native: "segment: leases (AddressSanitizer)"
mutant "a namespaced clear leaves leases alive", "segment.rb", "        end_leases\n", "", tests: "leases/segment"
mutant "a delete whose swap fails is lost", "segment/entries.c", "word, 0)) continue;\n                tseg_count_live",
       "word, 0)) break;\n                tseg_count_live", native: "segment: stop points"
mutant "a clear empties a shard that has new entries", "segment/shard.c", "->view.control->emptied, section->epoch);",
       "->view.control->emptied, section->epoch - 1);", native: "segment: operations (gcc)"
mutant "an append asks for 2 MB under the lock", "segment/log.c", "BACKED_AHEAD_BYTES (UINT64_C(64) << 10)",
       "BACKED_AHEAD_BYTES (UINT64_C(2) << 20)", native: "segment: what the system does to its file (AddressSanitizer)"
mutant "a read at the end of a TTL", "segment/read.c", "> now;", ">= now;", native: "segment: operations (gcc)"
mutant "expired entries are moved", "segment/log.c", "> section->now))", "> 0))", native: "segment: operations (gcc)"
mutant "the generation of a popular tag counts no hits", "segment/read.c",
       "    tseg_hit(segment, &(tseg_entry){.slot = known->slot, .word = word});\n", "",
       native: "segment: tags (AddressSanitizer)"
mutant "a walk at the end of a TTL", "segment/calls.c", "> now)", ">= now)", native: "segment: operations (gcc)"
mutant "a sequence wraps", "segment/entries.c", "old->sequence < TSEG_LAST_SEQUENCE && ", "",
       native: "segment: operations (gcc)"
mutant "a key shorter than the prefix is compared beyond its end", "segment/calls.c",
       "    if (entry->key_bytes < count) return false;\n", "", native: "segment: operations (gcc)"
mutant "foreign bytes under a tag's key count", "segment/read.c", "entry->value_bytes == TSEG_GENERATION_BYTES;",
       "true;", native: "segment: tags (AddressSanitizer)"
mutant "an abandoned near fill blocks its key", "segment/entries.c", "if (change->published_odd)\n        tseg_store(",
       "if (0)\n        tseg_store(", native: "segment: stop points"
mutant "a forgotten writer voids no fill", "segment/near.c", "if (!counted) ended += UINT64_C(1) << EPOCH_AT;",
       "if (!counted) ended += 0;", native: "segment: near fills (AddressSanitizer)"
mutant "256 writers overflow into the next counter", "segment/near.c", "< COUNT_MASK) begun", "<= COUNT_MASK) begun",
       native: "segment: near fills (AddressSanitizer)"
mutant "writers of a past period are not forgotten", "segment/near.c", "<< counter_at(now) : (uint64_t)COUNTS_MASK",
       "<< counter_at(now) : (uint64_t)COUNT_MASK << counter_at(now)", native: "segment: near fills (AddressSanitizer)"
mutant "a takeover clears the mark before the repair", "segment/shard.c",
       "        drop_half_written(section);\n        tseg_end_change(section);",
       "        uint64_t mark = tseg_load(&section->view.control->changing);\n        " \
         "tseg_end_change(section);\n        TSEG_STOP_HERE(TSEG_STOP_REPAIR);\n        " \
         "tseg_store(&section->view.control->changing, mark);\n        drop_half_written(section);\n      " \
         "  tseg_end_change(section);",
       native: "segment: repairs that are killed too"

# --- insight ---

mutant "rare words stay hidden", "insight/key_class.rb", "SHARED_BY = 20", "SHARED_BY = 1", tests: "insight/collector"
mutant "files of dead processes are added once", "insight/process_file.rb",
       'FileUtils.rm_f(["#{folder}/#{id}.json", "#{folder}/#{id}.reads"])', "nil", tests: "insight/collector"
mutant "a child counts anew", "insight/collector.rb", "@counts = Array.new(FIGURES.", "@counts ||= Array.new(FIGURES."
mutant "long waits belong to classes", "insight/collector.rb", "count_untimed(blocks) unless blocks.empty?", "itself"
mutant "exist? is no read", "lib/active_support/cache/tiercel_store.rb",
       "recount(backend, exists ? -1 : 0, exists ? 0 : -1)", "itself", tests: "insight/collector"
mutant "a caller of an audit keeps its variables", "insight/audit.rb", "hit.surroundings.restore", "itself"
mutant "an audit compares with a run of another day", "insight/audit.rb", "value == fresh", "value"
mutant "a changed entry is not stale", "insight/audit.rb",
       "return unless @comparison.canonical(Tiercel::Insight.uncounted { hit.reread.call }) == cached", "itself"
mutant "an audit stores nothing", "insight/audit.rb", ", **options, &block) unless", ", **options, &block) if true ||"
mutant "values are masked", "insight/audit.rb", "shown(value) = @values ? Tiercel", "shown(value) = true ? Tiercel"
mutant "the page is closed", "insight/web/access.rb", "return Response.text(403, CLOSED) unless local?",
       "return if true", tests: "insight/web"
mutant "the ERB of deploy files is text", "insight/doctor/deployment.rb", "text = ::File.read(path)",
       "text = ERB.new(::File.read(path)).result"
mutant "predictions start from the measured ratio", "insight/worth.rb",
       "measured = @counted[:misses].fdiv([@counted[:reads], 1].max)", "measured = 0.0"

# --- the store ---

mutant "entries with invalidated tags are misses in a multi read", "store/reader.rb", " if part && recorded.nil?\n",
       " if false\n", tests: "store/tags_contract"
mutant "generations that were guessed are compared", "store/tags/generations.rb", "(all || own <= read)",
       "(all || true)", tests: "store/tags_contract"
mutant "007 is no counter", "counter.rb", "(?:0|-?[1-9]\\d{0,18})", "-?\\d{1,19}"
mutant "a class that loads a missing file", "coder/payload_reader.rb",
       "rescue StandardError, ScriptError, SystemStackError", "rescue StandardError", tests: "store/contract"
mutant "a raw String that looks like a frame is framed", "store/writer.rb",
       "(String === value && !Tiercel::Frame.frame?(value))", "String === value", tests: "store/contract"
mutant "a stub of a hook is noticed", "lib/active_support/cache/tiercel_store.rb",
       "singleton_method_added(_name) = @patches&.check", "singleton_method_added(_name) = nil", tests: "store/hooks"
mutant "a subscription goes unnoticed", "store/subscriptions.rb", "i[subscribe unsubscribe].to_h", "i[unsubscribe].to_h"
mutant "an answer outlives a change", "store/subscriptions.rb", "{ @answer = Answer.new }", "{ @answer.unheard = nil }"

# --- the lab ---

mutant "the margin of a faster arm is wider", "tiercel-lab/lib/tiercel/lab/statistics.rb", "below = 1.0 / above",
       "below = 1.0 - margin", tests: "tiercel-lab/test/statistics/verdict_test.rb"
mutant "a slow block counts as the only one", "tiercel-lab/lib/tiercel/lab/statistics.rb", "* calls / slow.size",
       "* calls", tests: "tiercel-lab/test/statistics/descriptive_test.rb"

# --- failures, encryption, values ---

mutant "the cool-down has no maximum", "breaker.rb", "[@cool_down * 2, @max_cool_down].min", "@cool_down * 2"
mutant "the list of undelivered deletes has no bound", "undelivered.rb", "surplus.times { @due.shift }", "surplus"
mutant "a late request may revive a deleted key", "undelivered.rb", "@late[key] = @clock.call + LATE_SECONDS\n", "\n"
mutant "a key whose delete is pending is read", "guard.rb", "if reads?(method, key, keys) && (pending",
       "if false && (pending", tests: "undelivered"
mutant "a list waits for a call of its process", "undelivered.rb", "    @thread.start\n", ""
mutant "what others have deleted is read after an outage", "undelivered.rb", "settling? ? keys :", "false ? keys :"
mutant "a child sends its parent's deletes", "undelivered.rb",
       "      forget unless Tiercel::Forks.current?(@process)\n      keys.each", "      keys.each"
mutant "a child that only reads sends its parent's deletes", "undelivered.rb",
       "    @lock.synchronize { forget unless Tiercel::Forks.current?(@process) } # also replaces @sending\n", ""
mutant "an entry whose class is gone raises", "coder/lazy_entry.rb", "    value\n    false\n", "    false\n",
       tests: "coder"
mutant "the last key encrypts", "cipher.rb", "id = keys.each_key.first", "id = keys.keys.last"
mutant "a nonce is used twice", "cipher.rb", "nonce = Random.urandom(NONCE_BYTES)", 'nonce = "\0".b * NONCE_BYTES'
mutant "plain entries are read beside encrypted ones", "cipher.rb", "if @accept_plain", "unless @accept_plain.nil?"
mutant "jitter lengthens a life", "store/writer.rb", "seconds * (1 - (rand * policy.jitter))",
       "seconds * (1 + (rand * policy.jitter))", tests: ["store/fetch_contract", "-n", "/jitter/"]
mutant "race_condition_ttl ends after 300 s", "store/writer.rb", "race_condition_ttl.to_f * 2].max", "0].max",
       tests: ["store/contract", "-n", "/MemoryTest/"]
mutant "a raw value of unless_exist is deleted after an outage", "store/writer.rb",
       "@coder.with_parts(bytes, key, exclusive: true)", "bytes", tests: "faults/undelivered"
mutant "exist? takes a value away", "lib/active_support/cache/tiercel_store.rb", "except(:delete) if", "itself if",
       tests: ["store/contract", "-n", "/MemoryTest/"]
mutant "a counter continues an invalidated number", "store/counter.rb", "|| entry.expired? || @reader.outdated?(entry)",
       "|| entry.expired?", tests: ["store/tags_contract", "-n", "/counter/"]
mutant "skip_nil stores nil", "fetch/miss.rb", "return if value.nil? && options[:skip_nil]\n", "\n",
       tests: ["store/contract", "-n", "/MemoryTest/"]
mutant "an error of the block serves no stale value", "fetch.rb", "return MISS unless lease&.stale\n",
       "return MISS unless lease&.stale && false\n", tests: ["store/fetch_contract", "-n", "/stand/"]
mutant "clear forgets the namespace", "lib/active_support/cache/tiercel_store.rb",
       ".clear(key_prefix(merged_options(options)))", ".clear(nil)", tests: ["store/contract", "-n", "/MemoryTest/"]
mutant "a released lease is waited for", "leases/placeholders.rb", "          return :released if lease.released?\n",
       "", tests: "contracts/backend_contract"
mutant "a copy outlives its value", "tiers/near.rb", "longest = ttl && ttl < @ttl ? ttl : @ttl", "longest = @ttl"
mutant "a custom compressor has no limit", "compressors/custom.rb", "return inflated if inflated.bytesize <= limit",
       "return inflated if limit", tests: "coder/bombs"
mutant "keys are shown", "key_mask.rb", '.force_encoding(Encoding::UTF_8) : "*"', " : key"
mutant "a test worker leaves its entries", "test_worker.rb", " @number\n      stores.each(&:clear)\n", " @number\n"
mutant "a checksum without its flag is accepted", "frame.rb", "..)) : 0", "..)) : crc", tests: "coder/payloads"
mutant "a checksum without its flag is accepted in C", "codec/frame.c", "return header->crc32 == 0;", "return true;",
       tests: "coder/payloads"
mutant "a block inherits no tags of a stale value", "fetch/miss.rb", "@fetch.reader.inherit_tags(entry)\n      Tiercel",
       "Tiercel", tests: "store/fetch/inherited_tags"
mutant "a slow fetch_multi stores nothing before its end", "fetch.rb", "lease_ttl / STORES_PER_TTL", "lease_ttl * 99",
       tests: ["store/fetch_contract", "-n", "/before_its_next_block/"]
mutant "a request remembers what was not stored", "fetch.rb", "stored ? bytes : nil", "bytes",
       tests: ["store/contract_on_disk", "-n", "/not_remembered/"]
mutant "a request keeps an expired entry", "accessor/request_local.rb", "local.delete_entry(key)\n        false",
       "false", tests: ["store/contract_on_disk", "-n", "/mind_ends/"]
mutant "flights of abandoned fibers stay", "fetch/miss.rb", "forget_lapsed if @running.size >= @many\n", "\n",
       tests: ["store/fetch_contract", "-n", "/abandoned/"]
mutant "a long change is not noticed", "tiers/watch.rb", " - SLACK_SECONDS\n", "\n"
mutant "a full list of undelivered keys loses the newest", "undelivered.rb", "@due.delete(key) # to the end\n", "\n"
mutant "skipped calls are counted again", "guard_log.rb", "@skipped = 0\n      @opened_at", "@opened_at"
mutant "on a server a value ends with its frame", "store/writer.rb", "remote? ? 1 : ttl", "remote? ? 0 : ttl",
       tests: ["store/contract_remote", "-n", "/than_its_frame/"]
mutant "a delete of a cleared entry counts", "segment/entries.c",
       "entry.epoch == tseg_epoch(segment) && entry.exp", "entry.exp", native: "segment: operations (gcc)"
