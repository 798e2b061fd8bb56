/*
 * Layers "calls", "handle" and "near": calls that wait for a writer, that continue in another file, or that work on all
 * entries; handles on the segment at a path; and a segment as a near tier.
 */
#ifndef TIERCEL_SEGMENT_CALLS_H
#define TIERCEL_SEGMENT_CALLS_H

#include "entries.h"
#include "memo.h"

/*
 * A call under a shard's lock, or one that has to reach the current file. The struct of a kind of call begins with it.
 */
typedef struct tseg_call {
    tseg_result (*attempt)(struct tseg_call *call, tseg *segment);
    /* Runs without the lock if no attempt gave an answer, and returns the call's result. NULL: nothing can be done. */
    tseg_result (*abandon)(struct tseg_call *call, tseg *segment);
    uint32_t shard;     /* the shard that the last attempt needed */
    tseg_result result; /* of the last attempt */
} tseg_call;

/* Returns whether a result answers the call. Every other result means that nothing was done. */
static inline bool tseg_is_answer(tseg_result result)
{
    return result != TSEG_BUSY && result != TSEG_READ_ONLY && result != TSEG_RETIRED && result != TSEG_WOULD_WAIT &&
           result != TSEG_INTERRUPTED;
}

/* Another caller's lease, whose end a waiter wants to see. */
typedef struct {
    const void *key;
    uint32_t key_bytes;
    uint64_t lineage, holder;
} tseg_awaited_lease;

/*
 * One step of a walk over all entries. The caller zeroes the cursor before the first step. If the file changes, the
 * walk starts again. A step reads one bucket and puts its live entries into the batch. TSEG_OK, TSEG_ABSENT at the end,
 * TSEG_WOULD_WAIT for the cursor's shard, or TSEG_NO_MEMORY.
 */
typedef struct {
    uint64_t file_id;
    uint32_t shard;
    uint32_t slot;
} tseg_cursor;
typedef struct {
    uint8_t *bytes; /* the keys, one after the other; from realloc */
    size_t capacity;
    uint32_t count;
    struct {
        size_t key_offset;
        uint32_t key_bytes;
        unsigned hits;
    } entries[TSEG_BUCKET_SLOTS];
} tseg_batch;

/* A walk through the host, many batches at a time. The caller sets the first six members and zeroes the others. */
enum { TSEG_WALK_BATCHES = 32 };
typedef struct {
    tseg_cursor cursor;
    const char *prefix;
    uint32_t prefix_bytes;
    double now;        /* epoch seconds */
    long entries_left, buckets_left; /* the walk stops once one of them is 0 or less */
    bool at_end;       /* the walk has seen all entries */
    unsigned count;    /* batches that have entries */
    tseg_batch batches[TSEG_WALK_BATCHES];
    tseg *segment;
    uint64_t until_ns; /* by the monotonic clock: then the walk releases the host's lock */
    tseg_result result;
    tseg_wait wait;
} tseg_walker;

typedef struct {
    uint64_t entries; /* that the index leads to: also expired ones, until they are evicted */
    uint64_t live_bytes, log_bytes, used_bytes, processes, leases;
    uint64_t process[TSEG_PROCESS_COUNTERS];
    uint64_t shard[TSEG_SHARD_COUNTERS];
} tseg_stats;

/*
 * A handle follows its path to a new file, and makes a lost file again. Several handles of a process share one
 * attachment.
 */
/* The longest time that a call which opens, replaces or removes a file waits for another process that does so. */
#define TSEG_OPENING_WAIT_NS UINT64_C(10000000000)

typedef struct {
    tseg *attached;       /* NULL: closed; the next call attaches it again */
    char *path;           /* NULL: private memory */
    tseg_options options; /* of a file that the handle makes */
    uint64_t hash_key[2];
    bool is_open;         /* has a path or private memory; Ruby can allocate a handle without either */
    bool joined;          /* made no file at first, but makes the same file again if the file is lost */
    int64_t checked_at;   /* when the handle last looked at its path, in seconds of the monotonic clock */
    uint64_t attached_ns; /* when it was attached, by the monotonic clock */
    tseg_memo memo;
    bool shares_budget;   /* the memo's bound is a share of the machine's budget */
    int64_t shared_at;    /* when that share was last computed, in seconds of the monotonic clock */
    uint64_t sample_below; /* reads of keys whose mixed hash is smaller are reported to the observer; 0: none */
    uint64_t near_trust_ns;   /* reads trust copies for this long after the covered time; 0: always */
    bool near_unless_covered; /* reads also trust copies while no process covers them; see near_trust_recorded= */
    int64_t failed_at;      /* when the lost file could not be made, in seconds of the monotonic clock; 0: it could */
    bool given_up;          /* a process has held the lock for files for too long, so calls do not wait for it */
} tseg_handle;

/* Seconds of the monotonic clock, precise enough to look at a path once a second. */
static inline int64_t tseg_coarse_seconds(void) { return (int64_t)tseg_coarse_time().tv_sec; }

/*
 * True if the handle's attachment is certainly current: the common case of every call. This is a macro, so that the
 * compiler applies the caller's branch hint to each condition.
 */
#define TSEG_IS_CURRENT(handle, attached)                                                           \
    ((attached) && !tseg_forked() && (!(handle)->path || tseg_coarse_seconds() == (handle)->checked_at) && \
     !tseg_is_retired(attached))

/*
 * A begun change: the file, and the word of each stripe. The host keeps the change as bytes from tseg_near_begin_set to
 * tseg_near_end_set, so tseg_is_begun checks the bytes before they are used.
 */
typedef struct {
    uint64_t stripe, word;
} tseg_begun_stripe;
typedef struct {
    uint64_t file_id, count;
    tseg_begun_stripe stripes[];
} tseg_begun;
static inline size_t tseg_begun_bytes(uint64_t count) { return sizeof(tseg_begun) + count * sizeof(tseg_begun_stripe); }

#endif
