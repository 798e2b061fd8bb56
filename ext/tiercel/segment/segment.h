/*
 * The shared-memory segment, as the binding and the tests call it. The core contains no Ruby.
 *
 * A tseg is an attachment of this process to a file or to private memory. Reads and deletes take no lock; a write takes
 * the lock of one shard. docs/memory-model.md explains the protocol and proves it. layout.h explains the terms.
 *
 * Processes synchronize through the segment alone. Threads of a process also need the host's lock, which lets one
 * thread run at a time (in Ruby the GVL):
 * - A thread holds the host's lock in every call of this file, unless the call's comment says otherwise. A call never
 *   releases the lock, never waits, and keeps no pointer for the next call.
 * - tseg_watch, tseg_sleep and tseg_wake need a tseg_hold instead of the host's lock. The hold keeps the segment
 *   mapped. These calls touch only atomic words, so another thread may register, reopen the lock file or fork at the
 *   same time.
 * - Private memory has no registration. So threads may read, write, delete and lease there without the host's lock. The
 *   call counters may then lose counts.
 * - A process may fork from any thread at any time. The child's next call of tseg_after_fork notices the fork.
 */
#ifndef TIERCEL_SEGMENT_H
#define TIERCEL_SEGMENT_H

#include "system.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "entry.h"
#include "host.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the segment needs a little-endian machine"
#endif

typedef enum {
    TSEG_OK,
    TSEG_ABSENT,        /* the key has no entry (any more) */
    TSEG_PRESENT,       /* add: the key has an entry */
    TSEG_CHANGED,       /* compare_and_set: the entry has changed since the caller got the token */
    TSEG_TOO_LARGE,     /* the entry needs more than a quarter of the main log */
    TSEG_BUSY,          /* the lock's owner is stuck: a call has waited for it for the longest permitted time */
    TSEG_WOULD_WAIT,    /* a writer holds the lock: see tseg_may_wait */
    TSEG_READ_ONLY,     /* this process has no process slot, so it cannot write */
    TSEG_NOT_A_COUNTER,
    TSEG_HELD,          /* another holder has the lease */
    TSEG_FULL,          /* no slot is free for the lease */
    TSEG_NO_MEMORY,     /* a walk cannot allocate room for a key */
    TSEG_RETIRED,       /* the file is not the current one: attach again */
    TSEG_INTERRUPTED    /* the host has an exception to raise, or no segment could be attached */
} tseg_result;

/* The addresses of a shard's parts in this process: see tseg_view_of. */
typedef struct {
    tseg_shard *control;
    tseg_word *index;
    tseg_half *ghosts;
    tseg_word *log[TSEG_LOGS];
} tseg_view;

typedef struct tseg_sidecar tseg_sidecar;

typedef struct tseg {
    tseg_geometry geometry; /* checked and copied at attach; nothing reads the file's copy again */
    uint64_t hash_key[2];
    uint64_t file_id;
    tseg_header *header;
    tseg_process *processes;
    tseg_process *self;      /* this process's slot; without a slot, discarded_counts */
    tseg_process *discarded_counts;
    uint64_t counted_before[TSEG_PROCESS_COUNTERS]; /* the slot's counters when this process took the slot */
    tseg_word *stripes;
    tseg_lease_group *leases;
    tseg_word owner;         /* process slot and generation, as in a lock word; 0: the process cannot write */
    tseg_word stuck[TSEG_MAX_SHARDS]; /* the lock words that calls have waited for in vain */
    uint32_t index_slots;    /* slots in the index of one shard */
    uint32_t shard_shift;    /* the hash, shifted right by this, is the number of the shard */
    uint32_t shard_lease_groups; /* lease groups of one shard, a power of two */
    void *map;
    size_t map_bytes;
    tseg_sidecar *sidecar;   /* NULL: private memory */
    dev_t device;
    ino_t inode;
    mode_t mode;             /* permissions of the file */
    char *path;
    unsigned references;     /* handles of this process, and calls that hold the segment while they wait */
    unsigned holds;          /* those calls alone */
    bool warned;             /* the host has already warned that this process cannot write */
    struct tseg_known_generation *known; /* known_generations.c; NULL until a read has found a tag */
    void *known_memory;
    struct tseg *next;       /* in the list of this process's attachments */
} tseg;

/* Computed in each call: a table of the addresses would be more memory that a read with cold caches waits for. */
static inline tseg_view tseg_view_of(const tseg *segment, uint32_t shard)
{
    const tseg_geometry *geometry = &segment->geometry;
    char *start = (char *)segment->map + geometry->shards_offset + shard * geometry->shard_bytes;

    return (tseg_view){
        .control = (tseg_shard *)start,
        .index = (tseg_word *)(start + geometry->index_offset),
        .ghosts = (tseg_half *)(start + geometry->ghosts_offset),
        .log = {(tseg_word *)(start + geometry->log_offset[TSEG_SMALL]),
                (tseg_word *)(start + geometry->log_offset[TSEG_MAIN])},
    };
}

/* A read that fails this often is a miss. */
#define TSEG_READ_TRIES 4

/* The time of a read. A read calls this at most once, and only if a part of the entry can expire. */
typedef struct {
    bool known;
    double now;
} tseg_clock;

/* attach.c */
typedef struct {
    uint64_t bytes;           /* the size of a new file; 0: attach to an existing file, and make none */
    uint64_t smallest_bytes;  /* if less than `bytes` is free, make a smaller file down to this size; 0: fail */
    uint32_t shards;          /* 0: a default for the size */
    uint32_t average_entry_bytes; /* 0: the default */
    mode_t mode;
    const uint64_t *hash_key; /* NULL: random */
    tseg_host *host;          /* NULL: long work runs under the caller's lock */
} tseg_options;

/* Does not wait for other processes: see EAGAIN in tseg_error. */
tseg *tseg_attach(const char *path, const tseg_options *options, tseg_error *error);
tseg *tseg_attach_private(const tseg_options *options, tseg_error *error);
/* Each attach needs one release, and each hold one let_go. The last of them unmaps the segment. */
void tseg_hold(tseg *segment);
void tseg_let_go(tseg_host *host, tseg *segment);
void tseg_release(tseg *segment);
void tseg_release_by(tseg_host *host, tseg *segment); /* through the host: unmapping is long work if it frees memory */
extern uint64_t tseg_unmapped; /* the number of segments that this process has unmapped */
bool tseg_lay_out(tseg_geometry *geometry, uint64_t bytes, uint32_t shards, uint32_t average_entry_bytes,
                  uint32_t process_slots);
/* A call begins with this: it registers the process again after a fork. */
void tseg_after_fork(void);
bool tseg_forked(void);
/*
 * Called once a second. Registers the process again if other code has closed the lock file's descriptor, or if no
 * process slot was free before. Returns false if the lock file is gone too. In this case no process can register with
 * the segment any more, so the caller attaches again.
 */
bool tseg_keep_registered(tseg *segment);
/*
 * Returns false if the path leads to another file or none. The caller attaches again, but does not retire the segment:
 * after a chroot the path leads elsewhere for one process only.
 */
bool tseg_path_is_current(const tseg *segment);
void tseg_retire(tseg *segment);
/*
 * Retires and unlinks the file at the path. With only_unused it fails (EBUSY) while a process is registered on the
 * file. Waits for other processes that make or remove the file, unless `host` is NULL.
 */
bool tseg_remove(tseg_host *host, const char *path, bool only_unused, tseg_error *error);
/* Retires the file at the path and replaces it by an empty one. An option that is 0 stays as it was in the old file. */
bool tseg_replace(const char *path, const tseg_options *options, tseg_error *error);
/* After TSEG_READ_ONLY: the errno of the failed registration; 0 if all process slots were in use. */
int tseg_why_read_only(const tseg *segment);
/* Returns the number of registered processes, and stores the pids of the first `capacity` of them. */
int tseg_registered(tseg *segment, uint32_t *pids, int capacity);

/*
 * A callback that sets the clock; `context` belongs to the caller. Returns false if *segment has changed, so that the
 * read has to start again.
 */
typedef bool tseg_time_function(void *context, tseg_clock *clock, tseg **segment);

static inline bool tseg_knows_time(const tseg_clock *clock, double expires_at)
{
    return expires_at == INFINITY || clock->known;
}

static inline bool tseg_is_retired(const tseg *segment)
{
    return atomic_load_explicit(&segment->header->retired, memory_order_relaxed) != 0;
}

static inline uint32_t tseg_epoch(const tseg *segment)
{
    return atomic_load_explicit(&segment->header->epoch, memory_order_acquire);
}

/* read.c */
void tseg_make_key(const tseg *segment, tseg_key *key, const void *bytes, uint32_t count);
/* Finds the key's entry, live or not. Returns TSEG_ABSENT if the key has none. */
tseg_result tseg_find(tseg *segment, const tseg_key *key, tseg_entry *entry);
/*
 * Prefetch the memory that reads of these keys will need: first the buckets of all keys, then the entries that the
 * buckets lead to.
 */
void tseg_prefetch_buckets(const tseg *segment, const tseg_key *keys, unsigned count);
void tseg_prefetch_entries(const tseg *segment, const tseg_key *keys, unsigned count);
/* Whether the entry has the current epoch and has not expired at `now` (epoch seconds). */
bool tseg_is_live(const tseg *segment, const tseg_entry *entry, double now);
/* Copies a part of the value as it is now. */
void tseg_copy_value(const tseg_entry *entry, void *destination, uint32_t from, uint32_t bytes);
/* Called after a copy: whether the copied bytes are the entry's. */
bool tseg_intact(const tseg_entry *entry);
void tseg_hit(tseg *segment, const tseg_entry *entry);
tseg_token tseg_token_of(const tseg *segment, const tseg_entry *entry);
bool tseg_is_same(const tseg_token *one, const tseg_token *other);

/*
 * lock.c. A call of this file that meets a live writer returns TSEG_WOULD_WAIT. While tseg_may_wait returns true,
 * tseg_wait_for_writer (call.h) then holds the segment, releases the host's lock, blocks in tseg_watch, and reacquires
 * the host's lock; then the caller repeats the call. Only tseg_watch counts as waiting, because the time that a thread
 * needs to get the host's lock back says nothing about the writer.
 */
typedef struct {
    bool begun;
    uint64_t word;    /* the shard's lock word when tseg_watch last read it */
    uint64_t word_ns; /* how long tseg_watch has seen that word; a nap counts as 10 ms at most */
    uint64_t ns;      /* how long the call has waited in all; a nap counts as 2 ms at most */
} tseg_wait;
/*
 * Returns false once word_ns or ns has reached the bound; the call then fails as TSEG_BUSY. If word_ns has reached it,
 * the owner is stuck, and later calls of this process fail at once until the word changes.
 */
bool tseg_may_wait(tseg *segment, uint32_t shard, tseg_wait *wait);
/*
 * Blocks until the shard's lock word changes, the bound is reached or a signal arrives, but 5 ms at most, so that the
 * next attempt can find out whether the owner is alive. It reads only the lock word and changes only *wait, so threads
 * call it without the host's lock.
 */
void tseg_watch(const tseg *segment, uint32_t shard, tseg_wait *wait);
/*
 * The part of a nap that counts towards a bound. The limit keeps a live owner from looking stuck on a machine that was
 * paused or is overloaded.
 */
#define TSEG_LONGEST_COUNTED_NAP_NS UINT64_C(10000000)
uint64_t tseg_counted_nap(uint64_t began_ns, uint64_t longest_ns);

/*
 * write.c. Each call takes the lock of one shard. `now` (epoch seconds) decides which entries have expired. In tseg_set
 * it matters only for the entries that the write meets at a tail, and may be -infinity.
 */
tseg_result tseg_set(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now);
tseg_result tseg_add(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now);
tseg_result tseg_compare_and_set(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at,
                                 double now, const tseg_token *token);
tseg_result tseg_increment(tseg *segment, const tseg_key *key, int64_t amount, double expires_at, double now,
                           int64_t *count);
tseg_result tseg_touch(tseg *segment, const tseg_key *key, double expires_at, double now);
tseg_result tseg_near_fill(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now,
                           uint64_t stripe_epoch);

/* sweep.c. Takes no lock. *expires_at is the end of the deleted entry; +infinity if the entry could not be read. */
tseg_result tseg_delete(tseg *segment, const tseg_key *key, double *expires_at);
typedef tseg_result tseg_delete_function(tseg *segment, const tseg_key *key, double *expires_at);
/*
 * Deletes, and raises *latest_end to the end of the deleted entry. Returns TSEG_RETIRED if the segment was retired
 * before the delete. The caller then has to delete the key in the new file too, because other processes may already
 * have written it there.
 */
tseg_result tseg_delete_once(tseg *segment, const tseg_key *key, tseg_delete_function *delete, double *latest_end);
/*
 * near.c, see near.h. A caller takes the epoch before it reads the last tier; an invalidation rejects older epochs.
 */
uint64_t tseg_near_epoch(const tseg *segment, const tseg_key *key);
tseg_result tseg_near_invalidate(tseg *segment, const tseg_key *key, double *expires_at);
/* futex.c. Sleeps until the word differs from `seen`, tseg_wake is called, a signal arrives, or longest_ns is over. */
void tseg_sleep(tseg_half *word, uint32_t seen, uint64_t longest_ns);
void tseg_wake(tseg_half *word);

#endif
