/*
 * Layer "shard": the lock of a shard, its critical section, and the room in its two logs.
 */
#ifndef TIERCEL_SEGMENT_SHARD_H
#define TIERCEL_SEGMENT_SHARD_H

#include "files.h"
#include "read.h"

#define TSEG_LOCK_SPIN_NS 20000u
#ifndef TSEG_LOCK_WAIT_NS /* tests with hundreds of time-outs shorten it */
#define TSEG_LOCK_WAIT_NS 250000000u
#endif
#define TSEG_LONGEST_PAUSE_NS 1000000
#define TSEG_FIRST_WATCH_NS UINT64_C(5000000)

/*
 * A call that meets a live writer returns TSEG_WOULD_WAIT. While tseg_may_wait returns true, wait_for_writer then
 * waits: it holds the segment, releases the host's lock, blocks in tseg_watch, and reacquires the host's lock. The
 * caller then repeats the call. Only tseg_watch counts as waiting, because the time for reacquiring the host's lock
 * says nothing about the writer.
 */
typedef struct {
    bool begun;
    uint64_t word;    /* the shard's lock word when tseg_watch last read it */
    uint64_t word_ns; /* how long tseg_watch has seen that word; a nap counts as 10 ms at most */
    uint64_t ns;      /* how long the call has waited in all; a nap counts as 2 ms at most */
    long pause_ns;    /* the last nap; 0: none yet */
} tseg_wait;
/*
 * The part of a nap that counts towards a bound. Without the limit, a live owner would look stuck on a machine that was
 * paused or is overloaded.
 */
#define TSEG_LONGEST_COUNTED_NAP_NS UINT64_C(10000000)

/* The caller of these functions holds the shard's lock. */
typedef struct {
    tseg *segment;
    tseg_view view;
    uint32_t shard;
    uint32_t epoch;      /* the segment's epoch when the call got the lock */
    uint64_t lock_word;
    double now;          /* decides which entries at a tail have expired; -infinity: none */
    uint64_t head[TSEG_LOGS]; /* checked copies: damage could change the words in the file at any time */
    uint64_t tail[TSEG_LOGS];
    tseg_word *kept;     /* the slot that this write will change: evictions leave it as it is */
    unsigned tails_left; /* how many records the tail may still pass while this call has the lock */
    unsigned moves_left; /* how many entries this write may still promote or re-append */
    uint64_t move_bytes_left;
} tseg_section;

/*
 * Limits of one hold of the lock. If a large value over small entries needs more, its call releases the lock, and
 * continues in a further hold.
 */
#define TSEG_MAX_TAILS 4096u
#define TSEG_MAX_MOVES 64u
#define TSEG_MAX_MOVED_BYTES (UINT64_C(512) << 10)

/* Called once the entry that `changing` names is whole, or no slot leads to it any more. */
static inline void tseg_end_change(tseg_section *section) { tseg_store_release(&section->view.control->changing, 0); }
/* Returns whether the entry is live for this call. An entry of a later epoch cannot exist. */
static inline bool tseg_is_live_in(const tseg_section *section, const tseg_entry *entry)
{
    return entry->epoch == section->epoch && entry->expires_at > section->now;
}
static inline void tseg_count(const tseg_section *section, int counter)
{
    tseg_bump(&section->view.control->counters[counter]);
}

#endif
