/*
 * The shared-memory segment: what the binding and the tests call. No Ruby here.
 *
 * One tseg is one attachment of this process to one file (or to private
 * memory). Reads and deletes take no lock; writes take the lock of one shard.
 * The protocol and why it is right: docs/memory-model.md.
 *
 * Threads. Processes need no agreement; threads of one process do. "The host's lock" is whatever lets one thread of the
 * process run at a time (in Ruby the GVL).
 * - A thread holds the host's lock in every call of this file, unless the call says otherwise. A call never gives the
 *   lock up, never waits, and keeps no pointer for the next call.
 * - tseg_watch, tseg_sleep and tseg_wake need no host's lock, only a tseg_hold, which keeps the segment mapped. They
 *   touch atomic words of the mapping alone, so another thread may register, mend the lock file or fork at that time.
 * - Private memory has no registration. So threads need no host's lock for reads, writes, deletes and leases of it; the
 *   counters of calls may then lose counts.
 * - A process may fork from any thread at any time. The child's next call notices the fork; tseg_after_fork does.
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

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the segment needs a little-endian machine"
#endif

typedef enum {
    TSEG_OK,
    TSEG_ABSENT,        /* not there (any more) */
    TSEG_PRESENT,       /* add: already there */
    TSEG_CHANGED,       /* compare_and_set: not what the token came with */
    TSEG_TOO_LARGE,     /* above a quarter of the main log */
    TSEG_BUSY,          /* the lock's owner has not moved since a call waited for the whole bound */
    TSEG_WOULD_WAIT,    /* a writer is in the way: see tseg_may_wait */
    TSEG_READ_ONLY,     /* no process slot was free: this process cannot write */
    TSEG_NOT_A_COUNTER,
    TSEG_HELD,          /* a lease: somebody else has it */
    TSEG_FULL,          /* a lease: no slot is free */
    TSEG_RETIRED        /* the file is not the current one: attach again */
} tseg_result;

/* Where the parts of one shard are in this process. */
typedef struct {
    tseg_shard *control;
    tseg_word *index;
    tseg_half *ghosts;
    tseg_word *log[TSEG_LOGS];
} tseg_view;

typedef struct tseg_sidecar tseg_sidecar;

typedef struct tseg {
    tseg_geometry geometry; /* checked and copied at attach, never read from the file again */
    uint64_t hash_key[2];
    uint64_t file_id;
    tseg_header *header;
    tseg_process *processes;
    tseg_process *self;      /* own process slot, or discarded_counts */
    tseg_process *discarded_counts;
    uint64_t counted_before[TSEG_PROCESS_COUNTERS]; /* in the process slot, before this process had it */
    tseg_word *stripes;
    tseg_lease_group *leases;
    tseg_word owner;         /* slot and generation as in a lock word; 0: cannot write */
    tseg_word stuck[TSEG_MAX_SHARDS]; /* lock words that timed out */
    tseg_view views[TSEG_MAX_SHARDS];
    uint32_t index_slots;    /* of one shard */
    uint32_t shard_shift;
    uint32_t shard_lease_groups; /* of one shard, a power of two */
    void *map;
    size_t map_bytes;
    tseg_sidecar *sidecar;   /* NULL: private memory */
    dev_t device;
    ino_t inode;
    mode_t mode;             /* permissions of the file */
    char *path;
    unsigned references;     /* handles of this process, and calls that wait */
    unsigned holds;          /* the latter alone */
    bool warned;             /* that it cannot write: said once per process */
    struct tseg *next;       /* all attachments of this process */
} tseg;

/* Reads: at most this many tries, then a miss. */
#define TSEG_READ_TRIES 4

/* The time of a read: it is asked for at most once, and only where something has an end. */
typedef struct {
    bool known;
    double now;
} tseg_clock;

/*
 * How the host gives its lock up during long work: run calls step(argument, &stop) without the lock until step returns
 * true. Once `stop` is set, step returns false soon, and goes on where it was at the next call. Returns false if the
 * host gives the work up. Steps touch their argument alone, and nothing that threads share.
 */
typedef struct tseg_host {
    bool (*run)(struct tseg_host *host, bool (*step)(void *argument, const atomic_bool *stop), void *argument);
} tseg_host;

/* attach.c: geometry, files, registration */
typedef struct {
    uint64_t bytes;           /* of a new file; 0: attach to what exists, make nothing */
    uint64_t smallest_bytes;  /* where less than `bytes` is free, down to this (0: bytes or an error) */
    uint32_t shards;          /* 0: chosen */
    uint32_t average_entry_bytes; /* 0: the default */
    mode_t mode;
    const uint64_t *hash_key; /* NULL: random */
    tseg_host *host;          /* NULL: long work runs under the caller's lock */
} tseg_options;

typedef struct {
    int code;          /* errno, or 0; EAGAIN: another process makes or removes the file just now, try again */
    pid_t holder;      /* of EAGAIN: which process, 0 where that cannot be told */
    bool replaced;     /* no error: a damaged file of ours was replaced, the message says why */
    char message[512]; /* names the path and what to do */
} tseg_error;

/* Never waits: see EAGAIN. */
tseg *tseg_attach(const char *path, const tseg_options *options, tseg_error *error);
tseg *tseg_attach_private(const tseg_options *options, tseg_error *error);
/* Each attach is given back by one release, each hold by one let_go; the last one unmaps. */
void tseg_hold(tseg *segment);
void tseg_let_go(tseg *segment);
void tseg_release(tseg *segment);
void tseg_release_by(tseg_host *host, tseg *segment); /* unmapping takes long where that frees the file's memory */
extern uint64_t tseg_unmapped; /* how many this process has */
bool tseg_lay_out(tseg_geometry *geometry, uint64_t bytes, uint32_t shards, uint32_t average_entry_bytes,
                  uint32_t process_slots);
/* Once per call before anything else: registers anew after a fork. */
void tseg_after_fork(void);
bool tseg_forked(void);
/*
 * Once a second: registers anew where somebody closed the lock file's descriptor, which this process
 * did not open for him, or where no process slot was free before. Returns false if the lock file is gone
 * besides: nobody can register with the segment any more, so the caller attaches again.
 */
bool tseg_keep_registered(tseg *segment);
/*
 * Returns false if the path does not lead to the segment, as this process sees it. The caller attaches again, alone:
 * after a chroot the path leads elsewhere for one process only.
 */
bool tseg_path_is_current(const tseg *segment);
void tseg_retire(tseg *segment);
/* Retires and unlinks what the path leads to; with only_unused not while a process is registered on it (EBUSY). */
bool tseg_remove(const char *path, bool only_unused, tseg_error *error);
bool tseg_remove_by(tseg_host *host, const char *path, bool only_unused, tseg_error *error);
/* Retires what the path leads to and puts a new, empty one in its place. Options that are 0: those of the old one. */
bool tseg_replace(const char *path, const tseg_options *options, tseg_error *error);
/* After TSEG_READ_ONLY: errno of what kept this process from registering; 0: all slots are in use. */
int tseg_why_read_only(const tseg *segment);
/* How many processes are registered; the pids of the first of them. */
int tseg_registered(tseg *segment, uint32_t *pids, int capacity);

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
/* The entry with these key bytes, whether or not it is live; TSEG_ABSENT if there is none. */
tseg_result tseg_find(tseg *segment, const tseg_key *key, tseg_entry *entry);
/*
 * Ask the memory for what tseg_find and a read of these keys are going to look at: first for all buckets, then, from
 * what they hold, for the entries.
 */
void tseg_prefetch_buckets(const tseg *segment, const tseg_key *keys, unsigned count);
void tseg_prefetch_entries(const tseg *segment, const tseg_key *keys, unsigned count);
/* Of the current epoch, and not over at this time (epoch seconds; any will do for an entry without an end). */
bool tseg_is_live(const tseg *segment, const tseg_entry *entry, double now);
/* Part of the value as it is now. */
void tseg_copy_value(const tseg_entry *entry, void *destination, uint32_t from, uint32_t bytes);
/* After copying: whether what was copied is the entry. */
bool tseg_intact(const tseg_entry *entry);
void tseg_hit(tseg *segment, const tseg_entry *entry);
tseg_token tseg_token_of(const tseg *segment, const tseg_entry *entry);
bool tseg_is_same(const tseg_token *one, const tseg_token *other);

/*
 * lock.c: no call of the core waits. A call that meets a live writer returns TSEG_WOULD_WAIT. While tseg_may_wait
 * returns true, the caller then holds the segment, gives up the host's lock, blocks in tseg_watch, takes the host's
 * lock back, releases the segment, and makes the call again. Only tseg_watch counts as waiting: the time that the
 * caller needs to get the host's lock back says nothing about the writer.
 */
typedef struct {
    bool begun;
    uint64_t word;    /* the shard's lock, as tseg_watch last saw it */
    uint64_t word_ns; /* how long tseg_watch has seen that word; a nap counts as 10 ms at most */
    uint64_t ns;      /* how long this call has waited in all; a nap counts as 2 ms at most */
} tseg_wait;
/*
 * Returns false once one of the two times has reached the bound; the call then fails as TSEG_BUSY. If it is the word's,
 * the owner does not move: later calls of this process fail at once until the word changes.
 */
bool tseg_may_wait(tseg *segment, uint32_t shard, tseg_wait *wait);
/*
 * Blocks until the shard's lock moves, the bound is reached or a signal arrives, but 5 ms at most: then the next
 * attempt finds out whether the owner still lives. Reads the lock's word alone and changes nothing but *wait, so
 * threads call it without the host's lock.
 */
void tseg_watch(const tseg *segment, uint32_t shard, tseg_wait *wait);
/*
 * How much of a nap counts towards a bound. A machine that was paused, or that runs other programs most of the time,
 * does not make a live owner look stuck.
 */
#define TSEG_LONGEST_COUNTED_NAP_NS UINT64_C(10000000)
uint64_t tseg_counted_nap(uint64_t began_ns, uint64_t longest_ns);

/*
 * write.c: each under one shard's lock. now, epoch seconds, decides what is over;
 * where nothing but what is met at a tail depends on it, -infinity will do.
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

/* sweep.c: no lock is taken. *expires_at: the end of what was deleted; +infinity where it cannot be told. */
tseg_result tseg_delete(tseg *segment, const tseg_key *key, double *expires_at);
/* near.c, see near.h: taken before the farther read; no fill with an earlier one follows an invalidation. */
uint64_t tseg_near_epoch(const tseg *segment, const tseg_key *key);
tseg_result tseg_near_invalidate(tseg *segment, const tseg_key *key, double *expires_at);
/* futex.c: until the word is another, somebody wakes, a signal comes or the time is over. */
void tseg_sleep(tseg_half *word, uint32_t seen, uint64_t longest_ns);
void tseg_wake(tseg_half *word);

#endif
