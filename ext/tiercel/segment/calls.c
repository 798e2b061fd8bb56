/* Calls that wait for a writer, that continue in another file, or that work on all entries. */
#include "calls.h"

/* The number of times that one call follows its path to another file. */
#define MOST_FILES 3
/* The interval between two checks of a file that another process makes or removes. */
#define FILES_NAP_NS 2000000

/* The segment is held, so it stays mapped if another thread closes its last handle. */
static bool run_held(tseg_host *host, tseg *segment, tseg_step *step, void *argument)
{
    bool done;

    tseg_hold(segment);
    done = host->run(host, step, argument);
    tseg_let_go(host, segment);
    return done;
}

static bool block_held(tseg_host *host, tseg *segment, void *(*work)(void *argument), void *argument)
{
    bool done;

    tseg_hold(segment);
    done = host->block(host, work, argument);
    tseg_let_go(host, segment);
    return done;
}

typedef struct {
    const tseg *segment;
    uint32_t shard;
    tseg_wait *wait;
} lock_wait;

static void *watch_lock(void *argument)
{
    const lock_wait *watched = argument;
    tseg_watch(watched->segment, watched->shard, watched->wait);
    return NULL;
}

static tseg_result wait_for_writer(tseg_host *host, tseg *segment, uint32_t shard, tseg_wait *wait)
{
    lock_wait watched = {segment, shard, wait};

    if (!tseg_may_wait(segment, shard, wait)) return TSEG_BUSY;
    return block_held(host, segment, watch_lock, &watched) ? TSEG_OK : TSEG_INTERRUPTED;
}

/*
 * Waits in a pass over all entries, which never fails: a writer that blocks the pass for the longest permitted wait
 * counts as stuck, and the next attempt empties the slot. Returns false if the host was interrupted.
 */
static bool wait_in_pass(tseg_host *host, tseg *segment, uint32_t shard, tseg_wait *wait)
{
    tseg_result result = wait_for_writer(host, segment, shard, wait);

    if (result == TSEG_BUSY) *wait = (tseg_wait){0};
    return result != TSEG_INTERRUPTED;
}

static bool is_repeatable(tseg_result result) { return result == TSEG_WOULD_WAIT || result == TSEG_RETIRED; }

static void make_attempt(tseg_host *host, tseg *segment, tseg_call *call, tseg_wait *wait)
{
    tseg_result waited;

    call->result = call->attempt(call, segment);
    if (call->result != TSEG_WOULD_WAIT) return;
    waited = wait_for_writer(host, segment, call->shard, wait);
    if (waited != TSEG_OK) call->result = waited;
}

/*
 * The retry loop of all calls. The caller has made the first attempt without a final result. The loop waits for
 * writers, and follows the path to a new file, until an attempt has a final result or a limit is reached.
 */
tseg_result tseg_repeat_call(tseg_host *host, tseg_call *call)
{
    tseg_wait wait = {0};

    for (int files = 0; files < MOST_FILES; files += call->result == TSEG_RETIRED) {
        tseg *segment = host->current(host);
        if (!segment) return call->result = TSEG_INTERRUPTED;
        tseg_hold(segment);
        if (is_repeatable(call->result)) make_attempt(host, segment, call, &wait);
        if (!tseg_is_answer(call->result) && !is_repeatable(call->result) && call->abandon)
            call->result = call->abandon(call, segment);
        tseg_let_go(host, segment);
        if (!is_repeatable(call->result)) break;
    }
    return call->result;
}

static void *nap_for_files(void *counted_ns)
{
    const struct timespec pause = {0, FILES_NAP_NS};
    uint64_t began_ns = tseg_monotonic_ns();

    nanosleep(&pause, NULL);
    *(uint64_t *)counted_ns += tseg_counted_nap(began_ns, TSEG_LONGEST_COUNTED_NAP_NS);
    return NULL;
}

/*
 * Waits for another process or thread that makes or removes the file. Returns false for every other error, if this call
 * has waited for `patience_ns`, or if an earlier call waited that long (*given_up).
 */
bool tseg_wait_for_files(tseg_host *host, const tseg_error *error, uint64_t patience_ns, uint64_t *waited_ns,
                         bool *given_up)
{
    if (error->code != EAGAIN || *given_up) return false;
    *given_up = *waited_ns >= patience_ns;
    return !*given_up && host->block(host, nap_for_files, waited_ns);
}

/* Waiting for the end of another caller's lease. */
/* The death of a holder's process wakes no sleeper, so sleepers check the lease at this interval. */
#define LOOK_NS UINT64_C(25000000)

typedef struct {
    tseg_half *signal;
    uint32_t seen;
    uint64_t longest_ns;
} signal_wait;

static void *sleep_on_signal(void *argument)
{
    const signal_wait *wait = argument;
    tseg_sleep(wait->signal, wait->seen, wait->longest_ns);
    return NULL;
}

static uint64_t smaller(uint64_t one, uint64_t other) { return one < other ? one : other; }

/* Sleeps until the lease changes or lapses, the caller's time is over, or the next look is due. */
static bool sleep_on_lease(tseg_host *host, tseg *segment, const tseg_lease *lease, uint64_t now_ns,
                           uint64_t deadline_ns)
{
    signal_wait wait = {lease->signal, lease->signal_seen, smaller(LOOK_NS, deadline_ns - now_ns)};

    if (lease->lapses_ns > now_ns) wait.longest_ns = smaller(wait.longest_ns, lease->lapses_ns - now_ns + 1);
    return block_held(host, segment, sleep_on_signal, &wait);
}

/* Waits for the lease's end, at most longest_ns, and sets *state. Returns false if the host was interrupted. */
bool tseg_lease_wait(tseg_host *host, const tseg_awaited_lease *awaited, uint64_t longest_ns, tseg_lease_state *state)
{
    uint64_t deadline_ns = tseg_monotonic_ns() + longest_ns, file_id = 0;

    for (;;) {
        tseg *segment = host->current(host);
        uint64_t now_ns = tseg_monotonic_ns();
        tseg_lease lease;
        tseg_key key;
        if (!segment) return false;
        if (!file_id && longest_ns) tseg_bump(&segment->self->counters[TSEG_COUNT_LEASE_WAITS]);
        *state = TSEG_LEASE_GONE; /* a lease does not move to another file */
        if (file_id && file_id != segment->file_id) return true;
        file_id = segment->file_id;
        tseg_keep_registered(segment);
        tseg_make_key(segment, &key, awaited->key, awaited->key_bytes);
        *state = tseg_lease_look(segment, &key, awaited->lineage, awaited->holder, longest_ns > 0, &lease);
        if (*state != TSEG_LEASE_STANDS || now_ns >= deadline_ns) return true;
        if (!sleep_on_lease(host, segment, &lease, now_ns, deadline_ns)) return false;
    }
}

/* Work on all entries: clears, walks and figures. */
static bool begins_with(const tseg_slot_entry *entry, const uint8_t *prefix, uint32_t count)
{
    const tseg_word *stored = entry->at + TSEG_ENTRY_WORDS;
    uint8_t bytes[8];

    if (entry->key_bytes < count) return false;
    for (; count; stored++, prefix += 8) {
        uint32_t part = count < 8 ? count : 8;
        uint64_t word = tseg_load(stored);
        memcpy(bytes, &word, 8);
        if (memcmp(bytes, prefix, part) != 0) return false;
        count -= part;
    }
    return true;
}

/*
 * Reads the slot for a pass that has to see each key. TSEG_OK: *entry has a readable key. TSEG_ABSENT: the slot is
 * empty. TSEG_WOULD_WAIT: a writer is moving the entry. If no other call is moving the entry, or if that call is
 * stuck, this call empties the slot.
 */
static tseg_result read_key_slot(tseg *segment, uint32_t shard, tseg_word *slot, tseg_slot_entry *entry, uint64_t *word)
{
    const tseg_view view = tseg_view_of(segment, shard);

    while ((*word = tseg_load_acquire(slot)) != 0) {
        uint64_t seen = *word;
        bool written;
        if (tseg_read_slot(segment, &view, seen, entry) && tseg_is_in_log(&view, seen)) return TSEG_OK;
        written = tseg_is_being_written(segment, shard);
        if (!tseg_same_entry(tseg_load_acquire(slot), seen)) continue;
        if (written) return TSEG_WOULD_WAIT;
        if (!tseg_swap(slot, &seen, 0)) continue;
        tseg_count_live(view.control, -1, 0);
        break;
    }
    return TSEG_ABSENT;
}

/*
 * A pass reads entries from random places of the log. The pass therefore prefetches the entry of a slot this many slots
 * ahead. A pass over 8 million entries takes 21 ns for each entry instead of 68 ns.
 */
#define PREFETCHED_SLOTS (2 * TSEG_BUCKET_SLOTS)

static void prefetch_ahead(const tseg *segment, const tseg_view *view, uint32_t slot)
{
    uint64_t word = slot < segment->index_slots ? tseg_load(view->index + slot) : 0;
    const char *at = (const char *)tseg_at(segment, view, tseg_log_of(word), tseg_position(word));

    if (!word) return;
    __builtin_prefetch(at);
    __builtin_prefetch(at + TSEG_CACHE_LINE);
}

/*
 * Turns every entry into a miss: raises the segment's epoch, and ends all leases. The next write of a shard empties the
 * shard. The time of this call does not depend on the number of entries.
 */
void tseg_clear_at_once(tseg *segment)
{
    uint32_t epoch = atomic_fetch_add_explicit(&segment->header->epoch, 1, memory_order_seq_cst) + 1;

    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++) {
        TSEG_STOP_HERE(TSEG_STOP_REPAIR);
        tseg_lease_end_all(segment, shard, epoch);
    }
}

/* tseg_clear_at_once in the current file. Returns false if the host was interrupted. */
bool tseg_clear(tseg_host *host)
{
    tseg *segment;

    do {
        segment = host->current(host);
        if (!segment) return false;
        tseg_clear_at_once(segment);
    } while (tseg_is_retired(segment)); /* other processes may already have written into the new file */
    return true;
}

/*
 * A walk keeps the host's lock for this long. If many keys match, giving the lock up more often costs more than it
 * saves.
 */
#define WITH_HOST_LOCK_NS UINT64_C(2000000)

static bool grow(tseg_batch *batch, size_t bytes)
{
    uint8_t *grown;

    if (bytes <= batch->capacity) return true;
    grown = realloc(batch->bytes, bytes * 2);
    if (!grown) return false;
    batch->bytes = grown;
    batch->capacity = bytes * 2;
    return true;
}

/* TSEG_CHANGED: the slot or the tail has changed, so the slot has to be read again. */
static tseg_result add_to_batch(tseg *segment, const tseg_view *view, uint64_t word, const tseg_slot_entry *entry,
                                double now, tseg_batch *batch, size_t *used)
{
    size_t offset = *used;

    if (entry->epoch != tseg_epoch(segment) || !(entry->expires_at > now)) return TSEG_OK;
    if (!grow(batch, offset + entry->key_bytes)) return TSEG_NO_MEMORY;
    tseg_copy_out(batch->bytes + offset, entry->at + TSEG_ENTRY_WORDS, entry->key_bytes);
    if (!tseg_is_in_log(view, word)) return TSEG_CHANGED;
    batch->entries[batch->count].key_offset = offset;
    batch->entries[batch->count].key_bytes = (uint32_t)entry->key_bytes;
    batch->entries[batch->count].hits = tseg_hits(word);
    batch->count++;
    *used = offset + entry->key_bytes;
    return TSEG_OK;
}

tseg_result tseg_walk(tseg *segment, tseg_cursor *cursor, const void *prefix, uint32_t prefix_bytes, double now,
                      tseg_batch *batch)
{
    tseg_view view;
    size_t used = 0;

    batch->count = 0;
    /* A cursor is valid for one file only; in another file the walk starts again. */
    if (cursor->file_id != segment->file_id || cursor->slot >= segment->index_slots)
        *cursor = (tseg_cursor){segment->file_id, 0, 0};
    if (cursor->shard >= segment->geometry.shards) return TSEG_ABSENT;
    view = tseg_view_of(segment, cursor->shard);
    cursor->slot -= cursor->slot % TSEG_BUCKET_SLOTS;
    for (uint32_t i = cursor->slot; i < cursor->slot + TSEG_BUCKET_SLOTS; i++) {
        tseg_word *slot = view.index + i;
        tseg_result result;
        tseg_slot_entry entry;
        uint64_t word;
        prefetch_ahead(segment, &view, i + PREFETCHED_SLOTS);
        while ((result = read_key_slot(segment, cursor->shard, slot, &entry, &word)) == TSEG_OK) {
            bool matches = begins_with(&entry, prefix, prefix_bytes);
            if (!tseg_is_in_log(&view, word)) continue;
            if (!matches) break;
            result = add_to_batch(segment, &view, word, &entry, now, batch, &used);
            if (result != TSEG_CHANGED) break;
        }
        if (result == TSEG_WOULD_WAIT || result == TSEG_NO_MEMORY) return result;
    }
    cursor->slot += TSEG_BUCKET_SLOTS;
    if (cursor->slot >= segment->index_slots) *cursor = (tseg_cursor){cursor->file_id, cursor->shard + 1, 0};
    return TSEG_OK;
}

void tseg_walk_begin(tseg_walker *walker) { walker->until_ns = tseg_monotonic_ns() + WITH_HOST_LOCK_NS; }

static bool fill_batches(void *argument, const atomic_bool *stop)
{
    tseg_walker *walker = argument;

    do {
        tseg_batch *batch = &walker->batches[walker->count];
        walker->result = tseg_walk(walker->segment, &walker->cursor, walker->prefix, walker->prefix_bytes, walker->now,
                                   batch);
        if (walker->result != TSEG_OK) break;
        if (batch->count) walker->count++;
        walker->entries_left -= batch->count;
    } while (walker->count < TSEG_WALK_BATCHES && walker->entries_left > 0 && --walker->buckets_left > 0 &&
             !atomic_load(stop) && tseg_monotonic_ns() < walker->until_ns);
    return true;
}

/*
 * Fills batches with the next entries, and waits if a writer is moving one. Returns false if the host was interrupted.
 */
bool tseg_walk_on(tseg_host *host, tseg_walker *walker)
{
    const atomic_bool never = false;

    walker->count = 0;
    walker->segment = host->current(host);
    if (!walker->segment) return false;
    if (tseg_monotonic_ns() < walker->until_ns) {
        fill_batches(walker, &never);
    } else {
        walker->until_ns = UINT64_MAX;
        if (!run_held(host, walker->segment, fill_batches, walker)) return false;
        walker->until_ns = 0;
    }
    walker->at_end = walker->result == TSEG_ABSENT;
    if (walker->result != TSEG_WOULD_WAIT) return true;
    walker->segment = host->current(host); /* other threads ran, perhaps */
    if (!walker->segment) return false;
    if (walker->segment->file_id != walker->cursor.file_id) return true;
    return wait_in_pass(host, walker->segment, walker->cursor.shard, &walker->wait);
}

void tseg_walk_free(tseg_walker *walker)
{
    for (unsigned i = 0; i < TSEG_WALK_BATCHES; i++) free(walker->batches[i].bytes);
}

/* Figures of a segment, from counters alone. */
static void add_shard_counters(const tseg_shard *control, tseg_stats *stats)
{
    for (int i = 0; i < TSEG_SHARD_COUNTERS; i++) stats->shard[i] += tseg_load(&control->counters[i]);
}

static void add_process_counters(const tseg *segment, tseg_stats *stats)
{
    for (uint32_t slot = 0; slot < segment->geometry.process_slots; slot++)
        for (int i = 0; i < TSEG_PROCESS_COUNTERS; i++)
            stats->process[i] += tseg_load(&segment->processes[slot].counters[i]);
}

/* Processes that were killed may have left a count too low, so it may be negative. */
static uint64_t at_least_0(uint64_t half) { return half & UINT64_C(0x80000000) ? 0 : half; }

static void add_content(const tseg *segment, const tseg_shard *control, tseg_stats *stats)
{
    uint64_t live = tseg_load(&control->live);
    bool cleared = tseg_load(&control->emptied) != tseg_epoch(segment);

    for (int log = 0; log < TSEG_LOGS; log++) {
        uint64_t used = tseg_load(&control->head[log]) - tseg_load(&control->tail[log]);
        stats->log_bytes += segment->geometry.log_units[log] * TSEG_UNIT;
        if (!cleared && used <= segment->geometry.log_units[log]) stats->used_bytes += used * TSEG_UNIT;
    }
    if (cleared) return;
    stats->entries += at_least_0(tseg_high_half(live));
    stats->live_bytes += at_least_0(tseg_low_half(live)) * TSEG_UNIT;
}

/* Adds the counters of shards and processes. */
void tseg_collect_counters(tseg *segment, tseg_stats *stats)
{
    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++)
        add_shard_counters(tseg_view_of(segment, shard).control, stats);
    add_process_counters(segment, stats);
}

/* Reads no entry: every figure is a counter. */
void tseg_collect_stats(tseg *segment, tseg_stats *stats)
{
    *stats = (tseg_stats){.leases = tseg_lease_count(segment),
                          .processes = (uint64_t)tseg_registered(segment, NULL, 0)};
    tseg_collect_counters(segment, stats);
    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++)
        add_content(segment, tseg_view_of(segment, shard).control, stats);
}
