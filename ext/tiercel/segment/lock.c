/*
 * The lock of a shard: our own word with the owner's process slot and its
 * generation, and the kernel's record lock on the owner's byte of the sidecar
 * as proof that the owner lives.
 */
#include <errno.h>

#include "internal.h"

static uint64_t owned(const tseg *segment, uint64_t word)
{
    return (word >> TSEG_LOCK_TICKET_SHIFT << TSEG_LOCK_TICKET_SHIFT) | segment->owner;
}

static bool is_free(uint64_t word) { return (word & TSEG_LOCK_SLOT_MASK) == 0; }

static bool take(tseg *segment, tseg_word *lock, uint64_t seen, uint64_t *lock_word)
{
    *lock_word = owned(segment, seen);
    return atomic_compare_exchange_strong_explicit(lock, &seen, *lock_word, memory_order_acquire,
                                                   memory_order_relaxed);
}

bool tseg_try_lock(tseg *segment, uint32_t shard, uint64_t *lock_word)
{
    tseg_word *lock = &segment->views[shard].control->lock;
    uint64_t word = tseg_load(lock);
    return segment->owner && is_free(word) && take(segment, lock, word, lock_word);
}

/* What waits without the interpreter's lock: it only watches, so that leaving it by a raise leaves nothing locked. */
typedef struct {
    const tseg *segment;
    const tseg_word *lock;
    uint64_t seen;
    uint64_t deadline_ns;
} tseg_watch;

static void watch(void *argument)
{
    tseg_watch *watched = argument;
    struct timespec pause = {0, 20000};
    unsigned rounds = 0;

    while (tseg_load(watched->lock) == watched->seen && tseg_monotonic_ns() < watched->deadline_ns) {
        if (rounds++ % 4 == 0 && tseg_owner_is_dead(watched->segment, watched->seen)) return;
        if (nanosleep(&pause, NULL) != 0) return; /* a signal: let the caller look at it */
        if (pause.tv_nsec < 1000000) pause.tv_nsec *= 2;
    }
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

static tseg_result wait_for(tseg *segment, uint32_t shard, uint64_t *lock_word, bool *taken_over)
{
    tseg_word *lock = &segment->views[shard].control->lock;
    uint64_t deadline = tseg_monotonic_ns() + TSEG_LOCK_WAIT_NS;

    for (;;) {
        uint64_t word = tseg_load(lock);
        bool dead = !is_free(word) && tseg_owner_is_dead(segment, word);
        if ((is_free(word) || dead) && take(segment, lock, word, lock_word)) {
            *taken_over = dead;
            return TSEG_OK;
        }
        if (tseg_monotonic_ns() >= deadline) {
            tseg_store(&segment->stuck[shard], word);
            tseg_bump(&segment->self->counters[TSEG_COUNT_LOCK_TIMEOUTS]);
            return TSEG_BUSY;
        }
        if (dead || is_free(word)) continue;
        tseg_watch watched = {segment, lock, word, deadline};
        tseg_host_functions.wait(watch, &watched);
    }
}

tseg_result tseg_lock(tseg *segment, uint32_t shard, uint64_t *lock_word, bool *taken_over)
{
    tseg_word *lock = &segment->views[shard].control->lock;
    uint64_t word = tseg_load(lock);

    *taken_over = false;
    if (TSEG_UNLIKELY(!segment->owner)) return TSEG_READ_ONLY;
    if (TSEG_LIKELY(is_free(word) && take(segment, lock, word, lock_word))) return TSEG_OK;
    if (word && word == tseg_load(&segment->stuck[shard]) && !tseg_owner_is_dead(segment, word)) {
        /* Its owner let one of our calls wait in vain and has not moved since. */
        tseg_bump(&segment->self->counters[TSEG_COUNT_LOCK_TIMEOUTS]);
        return TSEG_BUSY;
    }
    if (spin(segment, lock, lock_word)) return TSEG_OK;
    if (!tseg_host_functions.may_wait()) return TSEG_WOULD_WAIT;
    tseg_bump(&segment->self->counters[TSEG_COUNT_LOCK_WAITS]);
    return wait_for(segment, shard, lock_word, taken_over);
}

void tseg_unlock(tseg *segment, uint32_t shard, uint64_t lock_word)
{
    uint64_t ticket = (lock_word >> TSEG_LOCK_TICKET_SHIFT) + 1;

    TSEG_STOP_HERE(TSEG_STOP_BEFORE_UNLOCK);
    /* Fails only where the word was altered from outside: then it is not ours to free. */
    atomic_compare_exchange_strong_explicit(&segment->views[shard].control->lock, &lock_word,
                                            ticket << TSEG_LOCK_TICKET_SHIFT, memory_order_release,
                                            memory_order_relaxed);
}
