/*
 * The lock of a shard: a word with the owner's process slot and its generation. A file lock on the owner's byte of the
 * lock file proves that the owner is alive.
 */
#include "shard.h"

static bool is_free(uint64_t word) { return (word & TSEG_LOCK_SLOT_MASK) == 0; }

static bool acquire(tseg *segment, tseg_word *lock, uint64_t seen, uint64_t *lock_word)
{
    uint64_t owner = tseg_load(&segment->owner);

    if (TSEG_UNLIKELY(!owner)) return false; /* lost just now, in another thread */
    *lock_word = (seen >> TSEG_LOCK_TICKET_SHIFT << TSEG_LOCK_TICKET_SHIFT) | owner;
    return atomic_compare_exchange_strong_explicit(lock, &seen, *lock_word, memory_order_acquire,
                                                   memory_order_relaxed);
}

static bool spin(tseg *segment, tseg_word *lock, uint64_t *lock_word)
{
    uint64_t until = tseg_monotonic_ns() + TSEG_LOCK_SPIN_NS;

    do {
        for (int i = 0; i < 16; i++) {
            uint64_t word = tseg_load(lock);
            if (is_free(word) && acquire(segment, lock, word, lock_word)) return true;
            tseg_relax();
        }
    } while (tseg_monotonic_ns() < until);
    return false;
}

/* Returns whether a call of this process has seen this lock word unchanged for the longest permitted wait. */
static bool is_stuck(const tseg *segment, uint32_t shard, uint64_t word)
{
    return word && word == tseg_load(&segment->stuck[shard]);
}

/* Returns whether a live owner holds the lock and is not stuck. */
bool tseg_is_being_written(const tseg *segment, uint32_t shard)
{
    uint64_t word = tseg_load_acquire(&tseg_view_of(segment, shard).control->lock);
    return !is_free(word) && !is_stuck(segment, shard, word) && !tseg_owner_is_dead(segment, word);
}

static tseg_result lock_slowly(tseg *segment, uint32_t shard, uint64_t *lock_word, bool *taken_over)
{
    tseg_word *lock = &tseg_view_of(segment, shard).control->lock;
    uint64_t word;

    /* This process registers first: one that counts as dead itself must not declare the owner dead. */
    tseg_keep_registered(segment);
    if (!tseg_load(&segment->owner)) return TSEG_READ_ONLY;
    word = tseg_load(lock);
    if (is_stuck(segment, shard, word) && !tseg_owner_is_dead(segment, word)) {
        tseg_bump(&segment->self->counters[TSEG_COUNT_LOCK_TIMEOUTS]);
        return TSEG_BUSY;
    }
    if (spin(segment, lock, lock_word)) return TSEG_OK;
    word = tseg_load(lock);
    *taken_over = !is_free(word) && tseg_owner_is_dead(segment, word);
    return (*taken_over || is_free(word)) && acquire(segment, lock, word, lock_word) ? TSEG_OK : TSEG_WOULD_WAIT;
}

/*
 * Acquires the lock, after a short spin if necessary, or returns the reason why it cannot. *taken_over: the former
 * owner died while it held the lock.
 */
tseg_result tseg_lock(tseg *segment, uint32_t shard, uint64_t *lock_word, bool *taken_over)
{
    tseg_word *lock = &tseg_view_of(segment, shard).control->lock;
    uint64_t word = tseg_load(lock);

    *taken_over = false;
    if (TSEG_UNLIKELY(!tseg_load(&segment->owner))) return TSEG_READ_ONLY;
    if (TSEG_LIKELY(is_free(word) && acquire(segment, lock, word, lock_word))) return TSEG_OK;
    return lock_slowly(segment, shard, lock_word, taken_over);
}

/*
 * Returns false once word_ns or ns has reached TSEG_LOCK_WAIT_NS; the call then fails as TSEG_BUSY. If word_ns has
 * reached it, the owner is stuck, and later calls of this process fail at once until the lock word changes.
 */
bool tseg_may_wait(tseg *segment, uint32_t shard, tseg_wait *wait)
{
    if (!wait->begun) tseg_bump(&segment->self->counters[TSEG_COUNT_LOCK_WAITS]);
    wait->begun = true;
    if (wait->ns < TSEG_LOCK_WAIT_NS && wait->word_ns < TSEG_LOCK_WAIT_NS) return true;
    if (wait->word_ns >= TSEG_LOCK_WAIT_NS) tseg_store(&segment->stuck[shard], wait->word);
    tseg_bump(&segment->self->counters[TSEG_COUNT_LOCK_TIMEOUTS]);
    return false;
}

uint64_t tseg_counted_nap(uint64_t began_ns, uint64_t longest_ns)
{
    uint64_t took_ns = tseg_monotonic_ns() - began_ns;
    return took_ns < longest_ns ? took_ns : longest_ns;
}

/* Returns false if a signal ended the nap. */
static bool nap(tseg_wait *wait, long pause_ns)
{
    struct timespec pause = {0, pause_ns};
    uint64_t began_ns = tseg_monotonic_ns();
    bool whole = nanosleep(&pause, NULL) == 0;

    wait->word_ns += tseg_counted_nap(began_ns, TSEG_LONGEST_COUNTED_NAP_NS);
    wait->ns += tseg_counted_nap(began_ns, TSEG_LONGEST_PAUSE_NS * 2);
    return whole;
}

/*
 * Blocks until the shard's lock word changes, the bound is reached or a signal arrives. Also returns after 5 ms, and
 * then each time word_ns has doubled, so that the next attempt can find out whether the owner is alive. The naps of a
 * call only become longer, because many waiting processes would otherwise take the owner's processor. The function
 * reads only the lock word and changes only *wait, so threads call it without the host's lock.
 */
void tseg_watch(const tseg *segment, uint32_t shard, tseg_wait *wait)
{
    const tseg_word *lock = &tseg_view_of(segment, shard).control->lock;
    uint64_t seen = tseg_load(lock), until_ns;

    if (seen != wait->word) wait->word_ns = 0;
    wait->word = seen;
    until_ns = wait->word_ns + (wait->word_ns > TSEG_FIRST_WATCH_NS ? wait->word_ns : TSEG_FIRST_WATCH_NS);
    while (!is_free(seen) && tseg_load(lock) == seen && wait->word_ns < until_ns) {
        if (wait->ns >= TSEG_LOCK_WAIT_NS || wait->word_ns >= TSEG_LOCK_WAIT_NS) return;
        if (wait->pause_ns < TSEG_LONGEST_PAUSE_NS) wait->pause_ns = wait->pause_ns ? wait->pause_ns * 2 : 20000;
        if (!nap(wait, wait->pause_ns)) return; /* the caller handles the signal */
    }
}

void tseg_unlock(tseg *segment, uint32_t shard, uint64_t lock_word)
{
    uint64_t ticket = (lock_word >> TSEG_LOCK_TICKET_SHIFT) + 1;

    TSEG_STOP_HERE(TSEG_STOP_BEFORE_UNLOCK);
    /* The swap fails only if the word was damaged. Then the lock does not belong to this process. */
    atomic_compare_exchange_strong_explicit(&tseg_view_of(segment, shard).control->lock, &lock_word,
                                            ticket << TSEG_LOCK_TICKET_SHIFT, memory_order_release,
                                            memory_order_relaxed);
}

/* A shard's critical section: how a call enters it, repairs the work of a dead writer, chooses a slot and leaves it. */
/*
 * Deletes the entry whose sequence a dead writer has left odd, because no read can return such an entry. The word
 * `changing` is cleared last: if this process dies before that, the next owner of the lock finds the entry.
 */
static void drop_half_written(tseg_section *section)
{
    uint64_t word = tseg_load(&section->view.control->changing), position = tseg_position(word), sizes, key_words;
    int log = tseg_log_of(word);
    tseg_word *at, *slot;
    tseg_key key;

    if (position < section->tail[log] || position >= section->head[log]) return;
    at = tseg_at(section->segment, &section->view, log, position);
    sizes = tseg_load(at);
    if (!tseg_bounds(section->segment, log, position, sizes, &key_words)) return;
    tseg_make_key(section->segment, &key, (const void *)(at + TSEG_ENTRY_WORDS), (uint32_t)tseg_high_half(sizes));
    slot = tseg_slot_at(section, &key, log, position);
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
    if (slot) tseg_drop_entry(section->view.control, slot, word, tseg_low_half(sizes));
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
}

static void load_logs(tseg_section *section)
{
    for (int log = 0; log < TSEG_LOGS; log++) {
        uint64_t head = tseg_load(&section->view.control->head[log]);
        uint64_t tail = tseg_load(&section->view.control->tail[log]);
        section->head[log] = head & TSEG_MAX_POSITION;
        section->tail[log] = tail & TSEG_MAX_POSITION;
        if (head == section->head[log] && tail == section->tail[log] && head >= tail &&
            head - tail <= section->segment->geometry.log_units[log])
            continue;
        tseg_reset_log(section, log);
        tseg_count(section, TSEG_COUNT_RESETS);
    }
}

/*
 * After a clear: empties the index and the logs. All their entries have an earlier epoch, because every call that
 * writes a newer entry comes through here first. `emptied` is stored last: if this process dies before, the next owner
 * of the lock starts again.
 */
static void empty_shard(tseg_section *section)
{
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
    for (uint32_t i = 0; i < section->segment->index_slots; i++) tseg_store(section->view.index + i, 0);
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
    for (int log = 0; log < TSEG_LOGS; log++) tseg_reset_log(section, log);
    tseg_store(&section->view.control->live, 0);
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
    tseg_store_release(&section->view.control->emptied, section->epoch);
}

/* The epoch is loaded under the lock, so the epochs of a key's entries never decrease. */
static void enter_locked(tseg_section *section, tseg *segment, uint32_t shard, double now)
{
    section->segment = segment;
    section->view = tseg_view_of(segment, shard);
    section->shard = shard;
    section->epoch = tseg_epoch(segment);
    section->now = now;
    section->kept = NULL;
    section->tails_left = TSEG_MAX_TAILS;
    section->moves_left = TSEG_MAX_MOVES;
    section->move_bytes_left = TSEG_MAX_MOVED_BYTES;
    load_logs(section);
    /* Values change only under the lock, so the process that has left this word set is dead. */
    if (TSEG_UNLIKELY(tseg_load(&section->view.control->changing))) {
        TSEG_STOP_HERE(TSEG_STOP_REPAIR);
        drop_half_written(section);
        tseg_end_change(section);
    }
    if (TSEG_UNLIKELY(tseg_load(&section->view.control->emptied) != section->epoch)) empty_shard(section);
}

tseg_result tseg_enter(tseg_section *section, tseg *segment, uint32_t shard, double now)
{
    bool taken_over;
    tseg_result result;

    TSEG_STOP_HERE(TSEG_STOP_BEFORE_LOCK);
    result = tseg_lock(segment, shard, &section->lock_word, &taken_over);
    if (result != TSEG_OK) return result;
    enter_locked(section, segment, shard, now);
    if (TSEG_UNLIKELY(taken_over)) tseg_count(section, TSEG_COUNT_TAKEOVERS);
    return TSEG_OK;
}

void tseg_leave(tseg_section *section) { tseg_unlock(section->segment, section->shard, section->lock_word); }

static tseg_word *first_empty(const tseg_section *section, tseg_word *slots, unsigned *empties)
{
    tseg_word *found = NULL;

    *empties = 0;
    for (unsigned i = 0; i < TSEG_BUCKET_SLOTS; i++) {
        uint64_t word = tseg_load_acquire(slots + i);
        if (word && tseg_position(word) < section->tail[tseg_log_of(word)]) { /* a writer died during a move */
            tseg_drop_entry(section->view.control, slots + i, word, 0);
            word = 0;
        }
        if (word) continue;
        (*empties)++;
        if (!found) found = slots + i;
    }
    return found;
}

/* The slot with the fewest hits; among those, one of the small log; among those, the oldest. */
static tseg_word *least_wanted(const tseg_section *section, const tseg_key *key)
{
    tseg_word *chosen = NULL;
    uint64_t least = UINT64_MAX;

    for (int which = 0; which < 2; which++) {
        tseg_word *slots = section->view.index + key->bucket[which];
        for (unsigned i = 0; i < TSEG_BUCKET_SLOTS; i++) {
            uint64_t word = tseg_load(slots + i);
            uint64_t rank = (uint64_t)tseg_hits(word) << 62 | (uint64_t)tseg_log_of(word) << 61 | tseg_position(word);
            if (rank >= least) continue;
            least = rank;
            chosen = slots + i;
        }
    }
    return chosen;
}

/* The entry's bytes stay in place until the tail passes them, so its size can be read under the lock. */
static void drop_slot(tseg_section *section, tseg_word *slot)
{
    uint64_t word = tseg_load_acquire(slot);
    const tseg_word *at = tseg_at(section->segment, &section->view, tseg_log_of(word), tseg_position(word));

    if (word) tseg_drop_entry(section->view.control, slot, word, tseg_low_half(tseg_load(at)));
}

tseg_word *tseg_empty_slot(tseg_section *section, const tseg_key *key)
{
    unsigned empties[2];
    tseg_word *first = first_empty(section, section->view.index + key->bucket[0], &empties[0]);
    tseg_word *second = first_empty(section, section->view.index + key->bucket[1], &empties[1]);

    if (empties[0] || empties[1]) return empties[0] >= empties[1] ? first : second;
    first = least_wanted(section, key);
    drop_slot(section, first);
    tseg_count(section, TSEG_COUNT_EVICTED_INDEX);
    return first;
}
