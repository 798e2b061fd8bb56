/* Shared by the sources of the core alone. */
#ifndef TIERCEL_SEGMENT_INTERNAL_H
#define TIERCEL_SEGMENT_INTERNAL_H

#include "system.h"

#include <string.h>
#include <time.h>

#include "segment.h"
#include "stop.h"

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
 * Counts a change of what the index leads to. Processes that delete take no lock, so this is an atomic addition. A
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
/* A check of the words that never change in an entry. It detects a damaged or misplaced header. */
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

static inline uint64_t tseg_monotonic_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* read.c */
/*
 * Compares the key of the slot's entry. TSEG_NOT_VERIFIABLE: the tail has passed the entry, or its lengths are damaged.
 */
typedef enum { TSEG_SAME_KEY, TSEG_OTHER_KEY, TSEG_NOT_VERIFIABLE } tseg_verdict;
tseg_verdict tseg_compare(const tseg *segment, const tseg_view *view, uint64_t word, const tseg_key *key,
                          tseg_entry *entry);
/* Whether a stored key has the bytes of this one, which is as long. */
bool tseg_same_bytes(const tseg_word *stored, const tseg_key *key);
/* Computes the length of an entry's key. Returns false if the entry's lengths do not fit into the log. */
bool tseg_bounds(const tseg *segment, int log, uint64_t position, uint64_t sizes, uint64_t *key_words);
/* Copy words of the file to any address, and bytes into words of the file. */
void tseg_copy_out(void *destination, const tseg_word *source, uint64_t bytes);
void tseg_copy_in(tseg_word *destination, const uint8_t *source, uint64_t bytes);

/* lock.c */
#define TSEG_LOCK_SPIN_NS 20000u
#ifndef TSEG_LOCK_WAIT_NS /* tests with hundreds of time-outs shorten it */
#define TSEG_LOCK_WAIT_NS 250000000u
#endif
#define TSEG_LONGEST_PAUSE_NS 1000000
#define TSEG_LONGEST_WATCH_NS UINT64_C(5000000)
/*
 * Takes the lock, after a short spin if need be, or returns the reason why it cannot. *taken_over: the former owner
 * died with the lock.
 */
tseg_result tseg_lock(tseg *segment, uint32_t shard, uint64_t *lock_word, bool *taken_over);
void tseg_unlock(tseg *segment, uint32_t shard, uint64_t lock_word);
/* Whether a live owner holds the lock and is not stuck. */
bool tseg_is_being_written(const tseg *segment, uint32_t shard);

/* registration.c */
bool tseg_owner_is_dead(const tseg *segment, uint64_t lock_word);

/* near.c: the word of the key's stripe. */
const tseg_word *tseg_near_word(const tseg *segment, const tseg_key *key);

/* lease.c: the key's group of leases; the slots that may have the key's lease; those of them that are in use. */
static inline tseg_lease_group *tseg_lease_group_of(const tseg *segment, const tseg_key *key)
{
    uint32_t groups = segment->shard_lease_groups;
    return segment->leases + (uint64_t)key->shard * groups + (key->hash >> 6 & (groups - 1));
}
static inline uint64_t tseg_lease_window(const tseg_key *key)
{
    const uint64_t window = (UINT64_C(1) << TSEG_LEASE_WINDOW) - 1;
    unsigned first = key->hash & (TSEG_LEASE_SLOTS - 1);
    return window << first | (first ? window >> (TSEG_LEASE_SLOTS - first) : 0);
}
static inline uint64_t tseg_lease_bits(const tseg_lease_group *group, const tseg_key *key)
{
    return tseg_load_acquire(&group->used) & tseg_lease_window(key);
}
/* Writes and deletes call this first. While no lease in the group is held, it costs one load. */
static inline bool tseg_has_leases(const tseg *segment, const tseg_key *key)
{
    const tseg_lease_group *group = tseg_lease_group_of(segment, key);
    uint64_t used = tseg_load_acquire(&group->used);
    return TSEG_UNLIKELY(used) && (used & tseg_lease_window(key));
}

/* lease.c. Every delete begins with this call, so that no fill which has begun before it can store its value. */
void tseg_begin_delete(const tseg *segment, const tseg_key *key);

/* log.c. The caller of these functions holds the shard's lock. */
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

/* A large value over small entries needs more: its call then gives up the lock, and goes on with the next ones. */
#define TSEG_MAX_TAILS 4096u
#define TSEG_MAX_MOVES 64u
#define TSEG_MAX_MOVED_BYTES (UINT64_C(512) << 10)

tseg_result tseg_enter(tseg_section *section, tseg *segment, uint32_t shard, double now);
void tseg_leave(tseg_section *section);
/* The entry that `changing` names is whole, or no slot leads to it any more. */
static inline void tseg_end_change(tseg_section *section) { tseg_store_release(&section->view.control->changing, 0); }
/* Whether the entry is live for this call. An entry of a later epoch cannot exist. */
static inline bool tseg_is_live_in(const tseg_section *section, const tseg_entry *entry)
{
    return entry->epoch == section->epoch && entry->expires_at > section->now;
}
/*
 * Makes room and sets *position. TSEG_RETIRED: the log is too small for the entry or has no positions left.
 * TSEG_TOO_LARGE: the system has no memory for the log of a sparse file.
 * TSEG_WOULD_WAIT: the tail has passed as many records as it may at a time; the room that was made stays.
 */
tseg_result tseg_reserve(tseg_section *section, int log, uint64_t units, uint64_t *position);
void tseg_commit(tseg_section *section, int log, uint64_t position, uint64_t units);
bool tseg_has_room(const tseg_section *section, int log, uint64_t units);
/*
 * reserve.c: gives these bytes memory. A write into a sparse file would end the process if the system has none; this
 * returns false.
 */
bool tseg_back(void *map, uint64_t from, uint64_t to, bool in_large_pages);
#define TSEG_LARGE_PAGE (UINT64_C(2) << 20)
/* From this size on, pages of 2 MB make random reads faster; below, nothing changes. */
#define TSEG_LARGE_PAGES_FROM (UINT64_C(2) << 30)
void tseg_reset_log(tseg_section *section, int log);
bool tseg_ghost_take(tseg_section *section, uint64_t hash);
void tseg_ghost_put(tseg_section *section, uint64_t hash);
/* The slot of either bucket that leads to this position, or NULL. */
tseg_word *tseg_slot_at(const tseg_section *section, const tseg_key *key, int log, uint64_t position);
tseg_word *tseg_empty_slot(tseg_section *section, const tseg_key *key);
void tseg_count(const tseg_section *section, int counter);
/*
 * lease.c: tseg_lease_end for a write, which has the lock. It also frees slots of leases in the window that are over.
 */
void tseg_lease_end_written(tseg_section *section, const tseg_key *key);

#endif
