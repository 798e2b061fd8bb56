/*
 * Byte layout of a segment file, version 2. The table drawn from this file is
 * docs/segment-layout.md; numbers here are never reused once released.
 *
 * header | process table | stripes | lease groups | shard 0 | shard 1 | ...
 * shard: control block | index buckets | ghost table | small log | main log
 */
#ifndef TIERCEL_SEGMENT_LAYOUT_H
#define TIERCEL_SEGMENT_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef _Atomic uint64_t tseg_word;
typedef _Atomic uint32_t tseg_half;

#define TSEG_MAGIC UINT64_C(0x317465736c637254) /* "Trclset1", little endian */
#define TSEG_LAYOUT_VERSION 2u

#define TSEG_CACHE_LINE 64u
#define TSEG_HEADER_BYTES 4096u
#define TSEG_PROCESS_SLOTS 512u
#define TSEG_STRIPES 1024u
#define TSEG_MAX_SHARDS 64u
#define TSEG_MIN_FILE_BYTES (UINT64_C(1) << 20)
#define TSEG_MAX_FILE_BYTES (UINT64_C(1) << 42)
#define TSEG_MIN_DEFAULT_SHARD_BYTES (UINT64_C(8) << 20)
#define TSEG_MIN_AVERAGE_ENTRY_BYTES 64u
#define TSEG_DEFAULT_AVERAGE_ENTRY_BYTES 512u

/* Logs. Positions count 16-byte units since the file was made. */
enum { TSEG_SMALL = 0, TSEG_MAIN = 1, TSEG_LOGS = 2 };
#define TSEG_UNIT 16u
#define TSEG_POSITION_BITS 44
#define TSEG_MAX_POSITION ((UINT64_C(1) << TSEG_POSITION_BITS) - 1)

/*
 * Slot word: hits (2 bits) | fingerprint (17) | log (1) | position (44).
 * 0 is empty; a fingerprint is never 0.
 */
#define TSEG_HITS_MASK UINT64_C(3)
#define TSEG_FINGERPRINT_SHIFT 2
#define TSEG_FINGERPRINT_BITS 17
#define TSEG_FINGERPRINT_MASK (((UINT64_C(1) << TSEG_FINGERPRINT_BITS) - 1) << TSEG_FINGERPRINT_SHIFT)
#define TSEG_LOG_SHIFT 19
#define TSEG_POSITION_SHIFT 20
#define TSEG_BUCKET_SLOTS 8u

/*
 * Lock word: owner's process slot + 1 (16 bits, 0 is free) | generation of
 * that slot (24) | ticket, which moves with every unlock (24).
 */
#define TSEG_LOCK_SLOT_MASK UINT64_C(0xFFFF)
#define TSEG_LOCK_GENERATION_SHIFT 16
#define TSEG_LOCK_GENERATION_MASK UINT64_C(0xFFFFFF)
#define TSEG_LOCK_TICKET_SHIFT 40

/*
 * Entry, in 64-bit words:
 *   0  units of the allocation (32) | key bytes (32)
 *   1  sequence (32), odd while the value is written | value bytes (32)
 *   2  expires_at, epoch seconds as an IEEE double, +infinity for never
 *   3  origin: log and position of the append that made it; moves keep it
 *   4  epoch of the segment (32) | check of words 0 and 3 (32)
 *   5  key, zero-padded to a whole word, then the value, likewise
 */
enum {
    TSEG_ENTRY_SIZES,
    TSEG_ENTRY_LENGTHS, /* sequence and value bytes */
    TSEG_ENTRY_END,
    TSEG_ENTRY_ORIGIN,
    TSEG_ENTRY_EPOCH
};
#define TSEG_ENTRY_WORDS 5u
#define TSEG_ENTRY_BYTES 40u
/* A filler up to the ring's end: word 0 with these key bytes, then its check. */
#define TSEG_FILLER_KEY_BYTES UINT32_C(0xFFFFFFFF)
#define TSEG_FILLER_CHECK 1
#define TSEG_LAST_SEQUENCE UINT32_C(0xFFFFFFF0)

/* Leases: a group has as many slots as its word of slots in use has bits; a key may have any of a window of them. */
#define TSEG_LEASE_SLOTS 64u
#define TSEG_LEASE_WINDOW 16u
#define TSEG_MAX_LEASE_GROUPS 64u
#define TSEG_BYTES_PER_LEASE_GROUP (UINT64_C(256) << 10)
/* In the place of a holder: given back without a value, and nobody is to compute for a while. */
#define TSEG_LEASE_RELEASED UINT64_C(0)
#define TSEG_LEASE_PAUSED UINT64_MAX

#define TSEG_GHOST_BUCKET 16u /* 32-bit ghosts in a cache line: fingerprint (16) | clock (16) */

/* Everything that is fixed when the file is made. */
typedef struct {
    uint64_t file_bytes;
    uint32_t shards;
    uint32_t average_entry_bytes;
    uint32_t process_slots;
    uint32_t stripes;
    uint32_t buckets; /* of one shard */
    uint32_t ghosts;  /* of one shard, a multiple of TSEG_GHOST_BUCKET */
    uint64_t lease_groups; /* a power of two, at least one a shard */
    uint64_t processes_offset;
    uint64_t stripes_offset;
    uint64_t leases_offset;
    uint64_t shards_offset;
    uint64_t shard_bytes;
    uint64_t index_offset; /* this and the following: from the shard's start */
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
    uint64_t sidecar_device; /* the lock file this segment was made with */
    uint64_t sidecar_inode;
    double created_at;
    tseg_geometry geometry;
    uint64_t check; /* SipHash of everything before it */
    _Alignas(TSEG_CACHE_LINE) tseg_half epoch;
    tseg_half retired; /* not 0: move to what the path leads to now */
    tseg_word near_covered; /* ns of the monotonic clock: until then every change behind was heard of; 0 never */
    tseg_word near_gaps;    /* how often all copies were put away, since nobody had covered them */
    tseg_word near_noted;   /* how often something was noted that the tier behind is to be told later */
    tseg_word near_server;  /* which server behind the listeners hear, and of which keys; 0 unknown */
    tseg_word near_seats;   /* which processes listen: two seats, see coverage.c */
} tseg_header;

/* One attached process: its counters stay when the slot is used again. */
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
    TSEG_COUNT_LEASES_TAKEN,
    TSEG_COUNT_LEASE_WAITS,
    TSEG_COUNT_LEASE_TAKEOVERS, /* of a lease that had lapsed, or whose holder was dead */
    TSEG_COUNT_LEASE_FULL,      /* takes that found no slot */
    TSEG_COUNT_LEASE_FILLS_LOST,
    TSEG_COUNT_SERVED, /* reads of values that found one: hits of the store, which HITS are not alone */
    TSEG_PROCESS_COUNTERS
};

typedef struct {
    _Alignas(TSEG_CACHE_LINE) tseg_half generation;
    tseg_half pid;
    tseg_word attached_at; /* IEEE double */
    _Alignas(TSEG_CACHE_LINE) tseg_word counters[2 * TSEG_CACHE_LINE / sizeof(tseg_word)];
} tseg_process;

/*
 * The lease of one key. Only the holder of the shard's lock fills, takes over, releases and frees a slot; anyone may
 * end its lineage, which is 0 then.
 */
typedef struct {
    _Alignas(TSEG_CACHE_LINE) tseg_word lineage; /* random, never 0 while the lease stands */
    tseg_word hash;                              /* of the key */
    tseg_word holder;                            /* random, or one of the two above */
    tseg_word owner;                             /* process slot and generation, as in a lock word */
    tseg_word lapses_ns;                         /* of the machine's monotonic clock */
    tseg_half kept_until;                        /* seconds of that clock: then the slot may be used again */
    tseg_half released;                          /* the lower half of the last holder that gave it back */
    tseg_half check;                             /* of the key: its hash under another key */
    tseg_half epoch;                             /* of the segment when it was taken */
    tseg_half signal;                            /* futex: bit 0 somebody waits, above it a count of changes */
    tseg_half version;                           /* hash of the value's version, 0 where it has none */
} tseg_lease_slot;

typedef struct {
    _Alignas(TSEG_CACHE_LINE) tseg_word used; /* a bit a slot: what writes and deletes load while no lease is held */
    _Alignas(TSEG_CACHE_LINE) tseg_lease_slot slots[TSEG_LEASE_SLOTS];
} tseg_lease_group;

/* Counters of a shard, changed under its lock. */
enum {
    TSEG_COUNT_EVICTED_SMALL,   /* left the small log without a hit */
    TSEG_COUNT_EVICTED_MAIN,    /* left the main log without a hit left */
    TSEG_COUNT_EVICTED_EXPIRED, /* met at a tail after its end */
    TSEG_COUNT_EVICTED_BOUND,   /* had hits, but the write's bound was reached */
    TSEG_COUNT_EVICTED_INDEX,   /* both buckets full */
    TSEG_COUNT_PROMOTED,
    TSEG_COUNT_REAPPENDED,
    TSEG_COUNT_GHOST_HITS,
    TSEG_COUNT_TAKEOVERS,
    TSEG_COUNT_RESETS,
    TSEG_SHARD_COUNTERS
};

typedef struct {
    /* A write in place stores into this line, its entry and its own process slot, and nothing else that is shared. */
    _Alignas(TSEG_CACHE_LINE) tseg_word lock;
    tseg_word changing; /* slot word of the entry whose sequence is odd, or 0 */
    _Alignas(TSEG_CACHE_LINE) tseg_word head[TSEG_LOGS];
    tseg_word tail[TSEG_LOGS];
    tseg_word records[TSEG_LOGS]; /* appended and not yet passed by the tail */
    tseg_word ghost_clock;        /* ghosts ever remembered */
    _Alignas(TSEG_CACHE_LINE) tseg_word counters[2 * TSEG_CACHE_LINE / sizeof(tseg_word) - 1];
    /* Raised by every delete before it looks for its key, without the lock. Writes store nothing into this line. */
    tseg_word deletes;
} tseg_shard;

_Static_assert(sizeof(tseg_header) <= TSEG_HEADER_BYTES, "the header has a page");
_Static_assert(sizeof(tseg_process) == 3 * TSEG_CACHE_LINE, "process slots are whole cache lines");
_Static_assert(sizeof(tseg_lease_slot) == TSEG_CACHE_LINE, "a lease is a cache line");
_Static_assert(sizeof(tseg_lease_group) == (1 + TSEG_LEASE_SLOTS) * TSEG_CACHE_LINE, "groups are whole cache lines");
_Static_assert(sizeof(tseg_shard) == 4 * TSEG_CACHE_LINE, "control blocks are whole cache lines");
_Static_assert(TSEG_PROCESS_COUNTERS <= 16 && TSEG_SHARD_COUNTERS <= 15, "two cache lines of counters");
_Static_assert(offsetof(tseg_shard, deletes) == 4 * TSEG_CACHE_LINE - sizeof(tseg_word), "the last word, once spare");
_Static_assert(sizeof(tseg_word) == 8 && sizeof(tseg_half) == 4, "lock-free words");

#endif
