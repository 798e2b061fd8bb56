/*
 * The lock of a shard: a word with the owner's process slot and its generation. A file lock on the owner's byte of the
 * lock file proves that the owner is alive.
 */
#include <errno.h>

#include "internal.h"

static uint64_t owned(const tseg *segment, uint64_t word)
{
    return (word >> TSEG_LOCK_TICKET_SHIFT << TSEG_LOCK_TICKET_SHIFT) | tseg_load(&segment->owner);
}

static bool is_free(uint64_t word) { return (word & TSEG_LOCK_SLOT_MASK) == 0; }

static bool take(tseg *segment, tseg_word *lock, uint64_t seen, uint64_t *lock_word)
{
    *lock_word = owned(segment, seen);
    return atomic_compare_exchange_strong_explicit(lock, &seen, *lock_word, memory_order_acquire,
                                                   memory_order_relaxed);
}

static bool spin(tseg *segment, tseg_word *lock, uint64_t *lock_word)
{
    uint64_t until = tseg_monotonic_ns() + TSEG_LOCK_SPIN_NS;

    do {
        for (int i = 0; i < 16; i++) {
            uint64_t word = tseg_load(lock);
            if (is_free(word) && take(segment, lock, word, lock_word)) return true;
            tseg_relax();
        }
    } while (tseg_monotonic_ns() < until);
    return false;
}

/* Whether a call of this process has seen this lock word unchanged for the longest permitted wait. */
static bool is_stuck(const tseg *segment, uint32_t shard, uint64_t word)
{
    return word && word == tseg_load(&segment->stuck[shard]);
}

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
    return (*taken_over || is_free(word)) && take(segment, lock, word, lock_word) ? TSEG_OK : TSEG_WOULD_WAIT;
}

tseg_result tseg_lock(tseg *segment, uint32_t shard, uint64_t *lock_word, bool *taken_over)
{
    tseg_word *lock = &tseg_view_of(segment, shard).control->lock;
    uint64_t word = tseg_load(lock);

    *taken_over = false;
    if (TSEG_UNLIKELY(!tseg_load(&segment->owner))) return TSEG_READ_ONLY;
    if (TSEG_LIKELY(is_free(word) && take(segment, lock, word, lock_word))) return TSEG_OK;
    return lock_slowly(segment, shard, lock_word, taken_over);
}

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

void tseg_watch(const tseg *segment, uint32_t shard, tseg_wait *wait)
{
    const tseg_word *lock = &tseg_view_of(segment, shard).control->lock;
    uint64_t seen = tseg_load(lock), before_ns;
    long pause_ns = 20000;

    if (seen != wait->word) wait->word_ns = 0;
    wait->word = seen;
    before_ns = wait->word_ns;
    while (!is_free(seen) && tseg_load(lock) == seen && wait->word_ns - before_ns < TSEG_LONGEST_WATCH_NS) {
        if (wait->ns >= TSEG_LOCK_WAIT_NS || wait->word_ns >= TSEG_LOCK_WAIT_NS) return;
        if (!nap(wait, pause_ns)) return; /* the caller handles the signal */
        if (pause_ns < TSEG_LONGEST_PAUSE_NS) pause_ns *= 2;
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
