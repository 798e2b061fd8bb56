/*
 * Layer "format": the words of a segment and their parts, keys, tokens, and the attachment of this process. Takes no
 * lock and knows no protocol. layout.h has the bytes.
 */
#ifndef TIERCEL_SEGMENT_FORMAT_H
#define TIERCEL_SEGMENT_FORMAT_H

#include "system.h"
#include "layout.h"

/*
 * SipHash-1-3 (Aumasson, Bernstein 2012), a keyed hash: an attacker who chooses the keys cannot choose their buckets.
 */
static inline uint64_t tseg_rotate(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }

/* Loads 8 bytes as a little-endian word. (frame_layout.h refuses big-endian machines.) */
static inline uint64_t tseg_load_bytes(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, 8);
    return word;
}

/*
 * Loads the last 0 to 7 of `all` bytes, which begin at `rest`, as a word padded with zeros. The function loads 8 bytes
 * if there are as many, because a copy of a variable length is a function call.
 */
static inline uint64_t tseg_load_rest(const uint8_t *rest, size_t count, size_t all)
{
    uint64_t word = 0;

    if (count == 0) return 0;
    if (all >= 8) return tseg_load_bytes(rest + count - 8) >> (64 - 8 * count);
    memcpy(&word, rest, count);
    return word;
}

#define TSEG_SIP_ROUND(a, b, c, d)                                            \
    do {                                                                      \
        a += b; b = tseg_rotate(b, 13) ^ a; a = tseg_rotate(a, 32);           \
        c += d; d = tseg_rotate(d, 16) ^ c;                                   \
        a += d; d = tseg_rotate(d, 21) ^ a;                                   \
        c += b; b = tseg_rotate(b, 17) ^ c; c = tseg_rotate(c, 32);           \
    } while (0)

static inline uint64_t tseg_siphash(const uint64_t key[2], const uint8_t *bytes, size_t count)
{
    uint64_t a = key[0] ^ UINT64_C(0x736f6d6570736575), b = key[1] ^ UINT64_C(0x646f72616e646f6d);
    uint64_t c = key[0] ^ UINT64_C(0x6c7967656e657261), d = key[1] ^ UINT64_C(0x7465646279746573);
    uint64_t last = (uint64_t)count << 56;
    size_t left = count;

    for (; left >= 8; bytes += 8, left -= 8) {
        uint64_t word = tseg_load_bytes(bytes);
        d ^= word;
        TSEG_SIP_ROUND(a, b, c, d);
        a ^= word;
    }
    last |= tseg_load_rest(bytes, left, count);
    d ^= last;
    TSEG_SIP_ROUND(a, b, c, d);
    a ^= last;
    c ^= 0xff;
    TSEG_SIP_ROUND(a, b, c, d);
    TSEG_SIP_ROUND(a, b, c, d);
    TSEG_SIP_ROUND(a, b, c, d);
    return a ^ b ^ c ^ d;
}

/*
 * Named stop points. A test build can stop a call at such a point and run another call in between. Other builds contain
 * no code for them.
 */
typedef enum {
    TSEG_STOP_BEFORE_LOCK,      /* a write is about to acquire the lock of its shard */
    TSEG_STOP_AFTER_FIND,       /* the call has read a slot and compared its key */
    TSEG_STOP_AFTER_TAIL,       /* a write has made room: it has stored the tails, but no byte of the entry yet */
    TSEG_STOP_AFTER_COPY,       /* a write has stored its bytes in the log, or a read has copied them out */
    TSEG_STOP_SEQUENCE_ODD,     /* a write in place has made the sequence odd */
    TSEG_STOP_BEFORE_SWAP,      /* a write or delete is about to change the slot */
    TSEG_STOP_MOVE_AFTER_TAIL,  /* a re-append has released the entry's bytes */
    TSEG_STOP_MOVE_AFTER_COPY,  /* a promotion or re-append has made its copy */
    TSEG_STOP_MOVE_BEFORE_SWAP, /* a promotion or re-append is about to make the slot point to the copy */
    TSEG_STOP_BEFORE_LINEAGE,   /* a new lease is complete except for its lineage */
    TSEG_STOP_BEFORE_CONSUME,   /* a fill is published with an odd sequence, and has not yet ended its lineage */
    TSEG_STOP_REPAIR,           /* before and after each store of a takeover, a reset, a clear or a registration */
    TSEG_STOP_BEFORE_UNLOCK,
    TSEG_STOP_POINTS
} tseg_stop_point;

#ifdef TSEG_STOP
extern void (*tseg_stop_hook)(tseg_stop_point point);
#define TSEG_STOP_HERE(point)                          \
    do {                                               \
        if (tseg_stop_hook) tseg_stop_hook(point);     \
    } while (0)
#else
#define TSEG_STOP_HERE(point) ((void)0)
#endif

/* Arguments and results of calls: a key, a value, an entry, and its token. */
typedef struct {
    const uint8_t *bytes;
    uint32_t count;
    uint32_t shard;
    uint64_t hash;
    uint64_t fingerprint; /* shifted to its place in a slot word */
    uint32_t bucket[2];   /* the first slot of each candidate bucket; the two may be equal */
} tseg_key;

/* A value in two parts. The first part is a frame's header, in whole words, or empty. */
typedef struct {
    const uint64_t *head;
    uint32_t head_words;
    const uint8_t *body;
    uint64_t body_bytes;
} tseg_value;

/* compare_and_set and the memo compare tokens to find out whether an entry has changed. */
typedef struct {
    uint64_t file_id;
    uint64_t origin;
    uint32_t sequence;
} tseg_token;

/* A found entry. A reader trusts none of these fields before tseg_intact has returned true. */
typedef struct {
    tseg_word *slot;
    uint64_t word;
    tseg_word *entry;
    const tseg_word *value;
    const tseg_word *tail;
    uint64_t position;
    uint64_t origin;
    uint64_t lengths; /* word 1 when it was read: sequence and value bytes */
    double expires_at;
    uint32_t sequence;
    uint32_t value_bytes;
    uint32_t units;
    uint32_t epoch;
} tseg_entry;

typedef enum {
    TSEG_OK,
    TSEG_ABSENT,        /* the key has no entry (any more) */
    TSEG_PRESENT,       /* add: the key has an entry */
    TSEG_CHANGED,       /* compare_and_set: the entry has changed since the caller got the token; a fill: it is late */
    TSEG_TOO_LARGE,     /* the entry is too large (tseg_too_large), or the system has no memory for it */
    TSEG_BUSY,          /* a call of this process has waited for the lock for the longest permitted time */
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

typedef struct tseg_sidecar tseg_sidecar; /* files.h */

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
    _Atomic unsigned references; /* handles of this process, and calls that hold the segment while they wait */
    _Atomic unsigned holds;      /* those calls alone */
    atomic_bool warned;      /* the host has already warned that this process cannot write */
    bool lost;               /* another process has acquired the process slot; see register_again */
    struct tseg_known_generation *known; /* read.c; NULL until a read has found a tag */
    void *known_memory;
    struct tseg *next;       /* in the list of this process's attachments */
} tseg;

/*
 * Whether threads of this process run calls at the same time, each under a host's lock of its own, as Ractors do. Calls
 * then remember no generations of tags (read.c), and a lost process slot is not replaced (presence.c). Never unset.
 */
extern atomic_bool tseg_parallel;

/* Each call computes the addresses, because a read with cold caches would have to wait for a table of them. */
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

/* The time of a read. A read calls this at most once, and only if a part of the entry can expire. */
typedef struct {
    bool known;
    double now;
} tseg_clock;

#define TSEG_LIKELY(x) __builtin_expect(!!(x), 1)
#define TSEG_UNLIKELY(x) __builtin_expect(!!(x), 0)

/*
 * ThreadSanitizer does not support fences. In its build each fence is a sequentially consistent operation on one word.
 */
#if defined(__SANITIZE_THREAD__)
#define TSEG_NO_FENCES 1
#endif
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TSEG_NO_FENCES 1
#endif
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#ifdef TSEG_NO_FENCES
extern tseg_word tseg_fence_word;
#define tseg_fence(order) ((void)atomic_fetch_add(&tseg_fence_word, 1))
#else
#define tseg_fence(order) atomic_thread_fence(order)
#endif

static inline uint64_t tseg_load(const tseg_word *word) { return atomic_load_explicit(word, memory_order_relaxed); }
static inline uint64_t tseg_load_acquire(const tseg_word *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}
static inline void tseg_store(tseg_word *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}
static inline void tseg_store_release(tseg_word *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}
/* Compare-and-swap. On failure *expected is the word's present value. */
static inline bool tseg_swap(tseg_word *word, uint64_t *expected, uint64_t desired)
{
    return atomic_compare_exchange_strong_explicit(word, expected, desired, memory_order_acq_rel,
                                                   memory_order_acquire);
}
/* Increments a counter that only one thread at a time changes. */
static inline void tseg_bump(tseg_word *counter) { tseg_store(counter, tseg_load(counter) + 1); }

static inline uint64_t tseg_words(uint64_t bytes) { return (bytes + 7) / 8; }

static inline double tseg_double(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}
static inline uint64_t tseg_bits(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* The halves of a word in an entry's header: see layout.h. */
static inline uint64_t tseg_low_half(uint64_t word) { return word & UINT32_MAX; }
static inline uint64_t tseg_high_half(uint64_t word) { return word >> 32; }
static inline uint64_t tseg_halves(uint64_t low, uint64_t high) { return (low & UINT32_MAX) | high << 32; }
static inline uint64_t tseg_with_low_half(uint64_t word, uint64_t low)
{
    return (word & ~(uint64_t)UINT32_MAX) | low;
}

/* The parts of a slot word. */
static inline unsigned tseg_hits(uint64_t word) { return (unsigned)(word & TSEG_HITS_MASK); }
static inline int tseg_log_of(uint64_t word) { return (int)((word >> TSEG_LOG_SHIFT) & 1); }
static inline uint64_t tseg_position(uint64_t word) { return word >> TSEG_POSITION_SHIFT; }
static inline uint64_t tseg_slot_word(uint64_t position, int log, uint64_t fingerprint, unsigned hits)
{
    return position << TSEG_POSITION_SHIFT | (uint64_t)log << TSEG_LOG_SHIFT | fingerprint | hits;
}
static inline bool tseg_same_entry(uint64_t a, uint64_t b) { return ((a ^ b) & ~TSEG_HITS_MASK) == 0; }
/*
 * Counts a change of what the index leads to. Processes that delete acquire no lock, so this is an atomic addition. A
 * process that is killed between its swap and this addition leaves the count wrong by one entry, until the next clear.
 */
static inline void tseg_count_live(tseg_shard *control, int64_t entries, int64_t units)
{
    atomic_fetch_add_explicit(&control->live, ((uint64_t)entries << 32) + (uint64_t)units, memory_order_relaxed);
}
/* Empties the slot if it still has the entry of this word, whose size in units is known. */
static inline void tseg_drop_entry(tseg_shard *control, tseg_word *slot, uint64_t word, uint64_t units)
{
    uint64_t found = word;
    while (tseg_same_entry(found, word)) {
        if (!tseg_swap(slot, &found, 0)) continue;
        tseg_count_live(control, -1, -(int64_t)units);
        return;
    }
}

static inline uint64_t tseg_mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ (x >> 32);
}
/* A check of the words that never change in an entry. The check detects a damaged or misplaced header. */
static inline uint32_t tseg_entry_check(uint64_t sizes, uint64_t origin)
{
    return (uint32_t)(tseg_mix(sizes ^ tseg_mix(origin)) >> 32);
}

static inline tseg_word *tseg_at(const tseg *segment, const tseg_view *view, int log, uint64_t position)
{
    return view->log[log] + position % segment->geometry.log_units[log] * (TSEG_UNIT / 8);
}

/* The size of an entry with these lengths, in units. */
static inline uint64_t tseg_units(uint64_t key_bytes, uint64_t value_bytes)
{
    return (TSEG_ENTRY_BYTES + 8 * (tseg_words(key_bytes) + tseg_words(value_bytes)) + TSEG_UNIT - 1) / TSEG_UNIT;
}

static inline void tseg_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

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

/* Every process moves to the file that the path leads to. */
static inline void tseg_retire(tseg *segment) { atomic_store(&segment->header->retired, 1); }

#endif
