/*
 * Byte layout of a segment file, version 3. segment-layout.md has the same as a table. A released number is never
 * reused.
 *
 * header | process table | stripes | lease groups | shard 0 | shard 1 | ...
 * shard: control block | index buckets | ghost table | small log | main log
 *
 * Terms of the core:
 * - Shard: an independent part of the segment with its own lock, index and logs. The hash of a key chooses the shard.
 * - Log: a ring buffer of entries. Writers append at the head, and evict at the tail.
 * - Position: the place of an entry in its log, counted in units of 16 bytes since the file was made. A position is
 *   never reused, so a position below the tail proves that the entry is gone ("the tail has passed the entry").
 * - Slot: a word of the index that leads to one entry: its position, its log, its hits, and a fingerprint of its key.
 *   A key has two candidate buckets of eight slots (a bucketized hash table). A lookup reads both buckets, so a delete
 *   stores 0 and needs no tombstone.
 * - Sequence: the counter of a seqlock, one in each entry. A writer makes the sequence odd before it overwrites
 *   the value in place, and even afterwards. A reader retries if the sequence is odd or has changed.
 * - S3-FIFO: the eviction policy (Yang et al., SOSP 2023). New entries go into the small log. An entry with a hit is
 *   promoted from the small log's tail to the main log, or re-appended from the main log's tail; an entry without a hit
 *   is evicted. A ghost is the fingerprint of a key that left the small log without a hit. A key with a ghost goes
 *   straight into the main log.
 * - Epoch of the segment: a clear raises it, and entries of an earlier epoch are misses.
 * - Generation of a process slot: the number of registrations in the slot. The generation distinguishes a dead
 *   owner of a lock from the process that now has the owner's slot.
 * - Stripe: a part of the keys of a near tier. The stripe's epoch rejects fills that are late.
 * - Retired: a retired segment is no longer the current segment. Every process moves to the file that the path leads
 *   to.
 */
#ifndef TIERCEL_SEGMENT_LAYOUT_H
#define TIERCEL_SEGMENT_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef _Atomic uint64_t tseg_word;
typedef _Atomic uint32_t tseg_half;

#define TSEG_MAGIC UINT64_C(0x317465736c637254) /* "Trclset1", little endian */
#define TSEG_LAYOUT_VERSION 3u

#define TSEG_CACHE_LINE 64u
#define TSEG_HEADER_BYTES 4096u
#define TSEG_PROCESS_SLOTS 512u
#define TSEG_STRIPES 1024u
#define TSEG_MAX_SHARDS 1024u
#define TSEG_MIN_FILE_BYTES (UINT64_C(1) << 20)
#define TSEG_MAX_FILE_BYTES (UINT64_C(1) << 42)
/* The default: up to 64 shards if each has at least 8 MB, and more than 64 if each has at least 64 MB. */
#define TSEG_FEW_SHARDS 64u
#define TSEG_LEAST_SHARD_BYTES (UINT64_C(8) << 20)
#define TSEG_LEAST_LARGE_SHARD_BYTES (UINT64_C(64) << 20)
#define TSEG_MIN_AVERAGE_ENTRY_BYTES 64u
#define TSEG_DEFAULT_AVERAGE_ENTRY_BYTES 512u

/* The two logs of a shard. */
enum { TSEG_SMALL = 0, TSEG_MAIN = 1, TSEG_LOGS = 2 };
#define TSEG_UNIT 16u
#define TSEG_POSITION_BITS 44
#define TSEG_MAX_POSITION ((UINT64_C(1) << TSEG_POSITION_BITS) - 1)

/*
 * Slot word, from its lowest bit: hits (2 bits) | fingerprint (17) | log (1) | position (44).
 * 0 is an empty slot. A fingerprint is never 0.
 */
#define TSEG_HITS_MASK UINT64_C(3)
#define TSEG_FINGERPRINT_SHIFT 2
#define TSEG_FINGERPRINT_BITS 17
#define TSEG_FINGERPRINT_MASK (((UINT64_C(1) << TSEG_FINGERPRINT_BITS) - 1) << TSEG_FINGERPRINT_SHIFT)
#define TSEG_LOG_SHIFT 19
#define TSEG_POSITION_SHIFT 20
#define TSEG_BUCKET_SLOTS 8u

/*
 * Lock word, from its lowest bit: process slot of the owner + 1 (16 bits; 0: the lock is free) | generation of that
 * slot (24) | ticket, which every unlock increments (24).
 */
#define TSEG_LOCK_SLOT_MASK UINT64_C(0xFFFF)
#define TSEG_LOCK_GENERATION_SHIFT 16
#define TSEG_LOCK_GENERATION_MASK UINT64_C(0xFFFFFF)
#define TSEG_LOCK_TICKET_SHIFT 40

/*
 * Entry, in 64-bit words; the low half is named first:
 *   0  units of the allocation (32) | key bytes (32)
 *   1  sequence (32), odd during a write | value bytes (32)
 *   2  expires_at: epoch seconds as an IEEE double, +infinity for an entry that never expires
 *   3  origin: log and position of the append that made the entry. Promotions and re-appends keep the origin.
 *   4  epoch of the segment (32) | check of words 0 and 3 (32)
 *   5  the key, padded with zeros to a whole word; then the value, padded likewise
 */
enum {
    TSEG_ENTRY_SIZES,
    TSEG_ENTRY_LENGTHS,
    TSEG_ENTRY_EXPIRES_AT,
    TSEG_ENTRY_ORIGIN,
    TSEG_ENTRY_EPOCH
};
#define TSEG_ENTRY_WORDS 5u
#define TSEG_ENTRY_BYTES 40u
/* A filler occupies the rest of the ring where the next entry does not fit. Word 0 of a filler has these key bytes; a
 * check of word 0 follows. */
#define TSEG_FILLER_KEY_BYTES UINT32_C(0xFFFFFFFF)
#define TSEG_FILLER_CHECK 1
#define TSEG_LAST_SEQUENCE UINT32_C(0xFFFFFFF0) /* an entry with this sequence is not overwritten in place any more */

/*
 * Leases. A group of slots has one word with a bit for each slot in use. The lease of a key is in one of
 * TSEG_LEASE_WINDOW neighbouring slots of its group.
 */
#define TSEG_LEASE_SLOTS 64u
#define TSEG_LEASE_WINDOW 16u
#define TSEG_MAX_LEASE_GROUPS 64u
#define TSEG_BYTES_PER_LEASE_GROUP (UINT64_C(256) << 10)
/*
 * A lease without a holder has one of these values instead: released; or released with a pause, during which no caller
 * may acquire the lease.
 */
#define TSEG_LEASE_RELEASED UINT64_C(0)
#define TSEG_LEASE_PAUSED UINT64_MAX

#define TSEG_GHOST_BUCKET 16u /* ghosts in a cache line; each has a fingerprint (16 bits) and the ghost clock (16) */

/* The division of the file, which never changes. */
typedef struct {
    uint64_t file_bytes;
    uint32_t shards;
    uint32_t average_entry_bytes;
    uint32_t process_slots;
    uint32_t stripes;
    uint32_t buckets; /* of one shard */
    uint32_t ghosts;  /* of one shard, a multiple of TSEG_GHOST_BUCKET */
    uint64_t lease_groups; /* a power of two, at least one for each shard */
    uint64_t processes_offset;
    uint64_t stripes_offset;
    uint64_t leases_offset;
    uint64_t shards_offset;
    uint64_t shard_bytes;
    uint64_t index_offset; /* this offset and the next ones count from the start of the shard */
    uint64_t ghosts_offset;
    uint64_t log_offset[TSEG_LOGS];
    uint64_t log_units[TSEG_LOGS];
} tseg_geometry;

typedef struct {
    uint64_t magic;
    uint32_t layout_version;
    uint32_t header_bytes;
    uint64_t file_id; /* random, never 0 */
    uint64_t hash_key[2];
    uint64_t boot_id[2];
    uint64_t sidecar_device; /* the lock file that lay beside the segment when it was made */
    uint64_t sidecar_inode;
    double created_at;
    tseg_geometry geometry;
    uint64_t check; /* SipHash of the bytes before this word */
    _Alignas(TSEG_CACHE_LINE) tseg_half epoch;
    tseg_half retired;      /* not 0: every process moves to the file that the path leads to now */
    tseg_word near_covered; /* end of the covered time, in ns of the monotonic clock; 0: never covered */
    tseg_word near_gaps;    /* how often all copies were deleted because no listener of the server had covered them */
    tseg_word spare;
    tseg_word near_server;  /* identifies the server and the keys that the listeners subscribe to; 0: unknown */
    tseg_word near_seats;   /* the two processes that listen: see near.c */
} tseg_header;

/* Counters of one process slot. The next process that has the slot continues them. */
enum {
    TSEG_COUNT_HITS,
    TSEG_COUNT_MISSES,
    TSEG_COUNT_WRITES,
    TSEG_COUNT_DELETES,
    TSEG_COUNT_REFUSED,
    TSEG_COUNT_LOCK_WAITS,
    TSEG_COUNT_LOCK_TIMEOUTS,
    TSEG_COUNT_READ_RETRIES,
    TSEG_COUNT_IN_PLACE,
    TSEG_COUNT_APPENDED,
    TSEG_COUNT_LEASE_WAITS = 11, /* 10 and 14 are spare */
    TSEG_COUNT_LEASE_TAKEOVERS, /* of leases that had lapsed or whose holder was dead */
    TSEG_COUNT_LEASE_FULL,      /* no slot was free for a lease */
    TSEG_COUNT_SERVED = 15, /* values found for the store; HITS also counts reads of tags and leases */
    TSEG_PROCESS_COUNTERS
};

typedef struct {
    _Alignas(TSEG_CACHE_LINE) tseg_half generation;
    tseg_half pid;
    tseg_word attached_at; /* IEEE double */
    _Alignas(TSEG_CACHE_LINE) tseg_word counters[2 * TSEG_CACHE_LINE / sizeof(tseg_word)];
} tseg_process;

/*
 * The lease of one key. Only the owner of the shard's lock fills, takes over, releases and frees a slot. Any process
 * may end the lineage without the lock, by storing 0.
 */
typedef struct {
    _Alignas(TSEG_CACHE_LINE) tseg_word lineage; /* random, never 0 while the lease is valid */
    tseg_word hash;                              /* of the key */
    tseg_word holder;                            /* random, or one of the two values above */
    tseg_word owner;                             /* process slot and generation, as in a lock word */
    tseg_word lapses_ns;                         /* by the machine's monotonic clock */
    tseg_half kept_until;                        /* in seconds of that clock; then another lease may use the slot */
    tseg_half released;                          /* the low half of the last holder that released the lease */
    tseg_half check;                             /* a second hash of the key, with another hash key */
    tseg_half epoch;                             /* the segment's epoch when the lease was acquired */
    tseg_half signal;                            /* futex: bit 0: a caller sleeps; the other bits count changes */
    tseg_half version;                           /* hash of the value's version; 0: the value has none */
} tseg_lease_slot;

typedef struct {
    _Alignas(TSEG_CACHE_LINE) tseg_word used; /* a bit for each slot in use; writes and deletes load this word first */
    _Alignas(TSEG_CACHE_LINE) tseg_lease_slot slots[TSEG_LEASE_SLOTS];
} tseg_lease_group;

/* Counters of a shard. Only the owner of its lock changes them. */
enum {
    TSEG_COUNT_EVICTED_SMALL,   /* at the small log's tail, without a hit */
    TSEG_COUNT_EVICTED_MAIN,    /* at the main log's tail, with no hit left */
    TSEG_COUNT_EVICTED_EXPIRED, /* at a tail, expired or of an earlier epoch */
    TSEG_COUNT_EVICTED_BOUND,   /* at a tail, with hits, because the write had moved as many entries as it may */
    TSEG_COUNT_EVICTED_INDEX,   /* to free a slot, because both buckets of a new key were full */
    TSEG_COUNT_PROMOTED,
    TSEG_COUNT_REAPPENDED,
    TSEG_COUNT_GHOST_HITS,
    TSEG_COUNT_TAKEOVERS,
    TSEG_COUNT_RESETS,
    TSEG_SHARD_COUNTERS
};

typedef struct {
    /* A write in place stores into this cache line, its entry and its own process slot, and no other shared line. */
    _Alignas(TSEG_CACHE_LINE) tseg_word lock;
    tseg_word changing; /* the slot word of the entry whose sequence is odd; 0: none */
    /*
     * The epoch of the segment for which the shard was last emptied. A clear only raises the epoch of the segment; the
     * next owner of the lock then empties the shard.
     */
    tseg_word emptied;
    tseg_word backed[TSEG_LOGS]; /* units from the ring's start that have memory; a large file gets it in steps */
    _Alignas(TSEG_CACHE_LINE) tseg_word head[TSEG_LOGS];
    tseg_word tail[TSEG_LOGS];
    tseg_word records[TSEG_LOGS]; /* entries between tail and head */
    tseg_word ghost_clock;        /* number of ghosts since the file was made */
    tseg_word live;               /* what the index leads to: entries (high half) and their units (low half) */
    _Alignas(TSEG_CACHE_LINE) tseg_word counters[2 * TSEG_CACHE_LINE / sizeof(tseg_word)];
} tseg_shard;

_Static_assert(sizeof(tseg_header) <= TSEG_HEADER_BYTES, "the header has a page");
_Static_assert(sizeof(tseg_process) == 3 * TSEG_CACHE_LINE, "process slots are whole cache lines");
_Static_assert(sizeof(tseg_lease_slot) == TSEG_CACHE_LINE, "a lease is a cache line");
_Static_assert(sizeof(tseg_lease_group) == (1 + TSEG_LEASE_SLOTS) * TSEG_CACHE_LINE, "groups are whole cache lines");
_Static_assert(sizeof(tseg_shard) == 4 * TSEG_CACHE_LINE, "control blocks are whole cache lines");
_Static_assert(TSEG_PROCESS_COUNTERS <= 16 && TSEG_SHARD_COUNTERS <= 16, "two cache lines of counters");
_Static_assert(sizeof(tseg_word) == 8 && sizeof(tseg_half) == 4, "lock-free words");

#endif
