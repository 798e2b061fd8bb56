/*
 * Layers "lease_table", "entries" and "leases": the table of a segment's leases, whose lineages every write and delete
 * may end (lease_table.c); writes, counters and deletes of single entries (entries.c); and the calls of the holders of
 * leases, which write themselves (leases.c).
 */
#ifndef TIERCEL_SEGMENT_ENTRIES_H
#define TIERCEL_SEGMENT_ENTRIES_H

#include "shard.h"

#define TSEG_NS_PER_S UINT64_C(1000000000)
/* A slot with a longer time is damaged. */
#define TSEG_LEASE_MAX_TTL_NS (86400 * TSEG_NS_PER_S)
/*
 * A lineage outlives its lease, so that a late fill still finds it: by ten times the lease's ttl, and at least by a
 * minute. After a release it stays for two seconds.
 */
#define TSEG_LEASE_OUTLIVES 10u
#define TSEG_LEASE_LEAST_KEPT_S 60u
#define TSEG_LEASE_RELEASED_KEPT_S 2u

static inline uint32_t tseg_load_half(const tseg_half *half)
{
    return atomic_load_explicit(half, memory_order_relaxed);
}
static inline void tseg_store_half(tseg_half *half, uint32_t value)
{
    atomic_store_explicit(half, value, memory_order_relaxed);
}

typedef struct {
    uint64_t lineage, holder, lapses_ns;
    uint32_t version;
    bool has_entry;        /* set by tseg_lease_acquire: the entry that it replaces exists */
    bool taken_over;       /* set by tseg_lease_acquire: the former holder had lapsed or was dead */
    tseg_half *signal;     /* set by a look: the word to sleep on while it has the value `signal_seen` */
    uint32_t signal_seen;
} tseg_lease;
typedef enum { TSEG_LEASE_STANDS, TSEG_LEASE_LAPSED, TSEG_LEASE_GIVEN_BACK, TSEG_LEASE_GONE } tseg_lease_state;

/* The key's group of leases; the slots that may have the key's lease; those of them that are in use. */
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

/* Returns the slot of the lowest bit that is set, and clears the bit. */
static inline tseg_lease_slot *tseg_next_lease_slot(tseg_lease_group *group, uint64_t *bits)
{
    tseg_lease_slot *slot = &group->slots[__builtin_ctzll(*bits)];
    *bits &= *bits - 1;
    return slot;
}

/*
 * A lease is the right to compute the value of a key. "Leases" in memory-model.md.
 *
 * A holder acquires a lease, computes the value, and then fills or releases the lease. If the holder takes too long or
 * dies, the lease lapses, and another caller takes it over. All leases of one chain of computations share a lineage.
 * Every other change of the key ends the lineage, and a fill with an ended lineage stores nothing.
 *
 * Acquiring, filling and releasing run under the shard's lock, as writes do; tseg_lease_look takes no lock. Lineages
 * and holders are random numbers, neither 0 nor all ones.
 */
typedef struct {
    uint64_t lineage;           /* a new lineage begins if the key has no lineage to continue */
    uint64_t holder, ttl_ns;
    uint32_t version;           /* from tseg_lease_version, or 0 */
    const tseg_token *replaces; /* the only entry that the key may have; NULL: it may have none */
    bool drops;                 /* deletes that entry; otherwise reads return it, or `stale`, until the fill */
    const tseg_value *stale;    /* replaces that entry until the fill; NULL: the entry stays as it is */
    double stale_expires_at;
} tseg_lease_request;

typedef struct {
    const tseg_key *key;
    const tseg_value *value;
    double expires_at;
    uint64_t least_value_bytes; /* the allocation has room for a value of this size */
    bool may_use_empty_slot;   /* for set and add; a change of an existing entry answers TSEG_ABSENT instead */
    bool counts_as_hit;
    bool published_odd;         /* for near fills and fills of leases: the slot is published with an odd sequence */
    bool keeps_lease;           /* for the value that reads see until a lease's fill, and for that fill */
    const tseg_word *watched;   /* for a near fill: the fill is late if this word has changed */
    uint64_t expected;          /* the watched word before the value was fetched */
    tseg_lease_slot *lease;     /* for the fill of a lease: its slot; else NULL */
    uint64_t lineage;
} tseg_change;

static inline uint64_t tseg_value_bytes(const tseg_value *value)
{
    return 8u * (uint64_t)value->head_words + value->body_bytes;
}

static inline uint64_t tseg_needed_units(const tseg_change *change)
{
    uint64_t bytes = tseg_value_bytes(change->value);
    return tseg_units(change->key->count, bytes > change->least_value_bytes ? bytes : change->least_value_bytes);
}

static inline void tseg_write_value(tseg_word *to, const tseg_value *value)
{
    for (uint32_t i = 0; i < value->head_words; i++) tseg_store(to++, value->head[i]);
    tseg_copy_in(to, value->body, value->body_bytes);
}

static inline uint64_t tseg_lengths_word(uint64_t sequence, const tseg_value *value)
{
    return tseg_halves(sequence, tseg_value_bytes(value));
}

/* No larger value is stored: its copy under the lock would hold other writers up for more than some milliseconds. */
#define TSEG_MAX_VALUE_BYTES (UINT64_C(16) << 20)

typedef tseg_result tseg_delete_function(tseg *segment, const tseg_key *key, double *expires_at);

#endif
