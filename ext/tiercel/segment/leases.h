/*
 * Layer "leases": the table of a segment's leases (lease_table.c), whose lineages every write and delete may end, and
 * the calls of their holders (leases.c), which write themselves.
 */
#ifndef TIERCEL_SEGMENT_LEASES_H
#define TIERCEL_SEGMENT_LEASES_H

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
    bool has_entry;        /* set by a take: the entry that it replaces exists */
    bool taken_over;       /* set by a take: the former holder had lapsed or was dead */
    tseg_half *signal;     /* set by a look: the word to sleep on while it has the value `signal_seen` */
    uint32_t signal_seen;
} tseg_lease;
typedef enum { TSEG_LEASE_STANDS, TSEG_LEASE_LAPSED, TSEG_LEASE_GIVEN_BACK, TSEG_LEASE_GONE } tseg_lease_state;

uint32_t tseg_lease_version(const tseg *segment, const void *bytes, size_t count);
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

/* Every delete begins with this call, so that no fill which has begun before it can store its value. */
void tseg_begin_delete(const tseg *segment, const tseg_key *key);

/* Returns the slot of the lowest bit that is set, and clears the bit. */
static inline tseg_lease_slot *tseg_next_lease_slot(tseg_lease_group *group, uint64_t *bits)
{
    tseg_lease_slot *slot = &group->slots[__builtin_ctzll(*bits)];
    *bits &= *bits - 1;
    return slot;
}

uint32_t tseg_lease_check(const tseg *segment, const tseg_key *key);
/* Called after a change: wakes the callers that sleep on the slot. */
void tseg_lease_signal(tseg_lease_slot *slot);
/* Returns false if the lineage had ended before. */
bool tseg_lease_end_lineage(tseg_lease_slot *slot, uint64_t lineage);
/* The caller has the shard's lock. */
void tseg_lease_free_slot(tseg_lease_group *group, const tseg_lease_slot *slot);
/* Returns whether the slot is free for another lease. */
bool tseg_lease_is_over(const tseg_lease_slot *slot, uint32_t epoch, uint64_t now_ns);
/* Finds the slot of the key's lease. *lineage is the lineage that was found, since it may end at any time. */
tseg_lease_slot *tseg_find_lease(const tseg *segment, const tseg_key *key, uint32_t epoch, uint64_t *lineage);
bool tseg_lease_has_lapsed(const tseg *segment, const tseg_lease_slot *slot, uint64_t holder, uint64_t now_ns);
void tseg_lease_describe(const tseg_lease_slot *slot, uint64_t lineage, tseg_lease *lease);
/* Ends the lineage on behalf of its fill. Returns false if the lineage had ended before. */
bool tseg_lease_consume(tseg_lease_slot *slot, uint64_t lineage);
/*
 * The state of a lease for a caller that saw it with this holder. With `to_wait`, a later change wakes a tseg_sleep on
 * the lease's signal.
 */
tseg_lease_state tseg_lease_look(const tseg *segment, const tseg_key *key, uint64_t lineage, uint64_t holder,
                                 bool to_wait, tseg_lease *lease);
/*
 * These three take no lock, and wake the waiters of the lineages that they end: the lineages of a key; the lineages of
 * a shard that are older than an epoch; all lineages of the segment.
 */
void tseg_lease_end(const tseg *segment, const tseg_key *key);
void tseg_lease_end_all(const tseg *segment, uint32_t shard, uint32_t epoch);
void tseg_lease_end_everywhere(const tseg *segment);
uint64_t tseg_lease_count(const tseg *segment); /* standing leases */
/* tseg_lease_end for a write, which holds the lock. It also frees the slots of leases in the window that are over. */
void tseg_lease_end_written(tseg_section *section, const tseg_key *key);

/*
 * A lease is the right to compute the value of a key. "Leases" in memory-model.md.
 *
 * A holder takes a lease, computes the value, and then fills or releases the lease. If the holder takes too long or
 * dies, the lease lapses, and another caller takes it over. All leases of one chain of computations share a lineage.
 * Every other change of the key ends the lineage, and a fill with an ended lineage stores nothing.
 *
 * Take, fill and release run under the shard's lock, as writes do; tseg_lease_look takes no lock. Lineages and holders
 * are random numbers, neither 0 nor all ones.
 */
typedef struct {
    uint64_t lineage;           /* a new lineage begins if the key has no lineage to continue */
    uint64_t holder, ttl_ns;
    uint32_t version;           /* from tseg_lease_version, or 0 */
    const tseg_token *replaces; /* the only entry that the key may have; NULL: it may have none */
    bool drops;                 /* deletes that entry; otherwise reads return it, or `shown`, until the fill */
    const tseg_value *shown;    /* replaces that entry until the fill; NULL: the entry stays as it is */
    double shown_expires_at;
} tseg_lease_request;
/*
 * TSEG_OK: the caller holds the lease, and *lease has its lineage. TSEG_HELD: *lease is another holder's, which has not
 * lapsed. TSEG_PRESENT: the key has another entry than `replaces`. TSEG_FULL: no slot is free.
 */
tseg_result tseg_lease_take(tseg *segment, const tseg_key *key, const tseg_lease_request *request, double now,
                            tseg_lease *lease);
/* TSEG_OK, or TSEG_CHANGED if the lineage has ended. TSEG_TOO_LARGE ends the lineage too. */
tseg_result tseg_lease_fill(tseg *segment, const tseg_key *key, uint64_t lineage, const tseg_value *value,
                            double expires_at, double now);
/* Returns TSEG_ABSENT if the holder has lost the lease. For the next pause_ns no caller gets the lease. */
tseg_result tseg_lease_release(tseg *segment, const tseg_key *key, uint64_t lineage, uint64_t holder,
                               uint64_t pause_ns);
/*
 * For a fill or a release that cannot acquire the lock: ends the lineage without the lock, so that waiters continue.
 * Returns TSEG_ABSENT and does nothing if another process holds the lease by now, or another holder than this one (0:
 * any holder of this process).
 */
tseg_result tseg_lease_abandon(const tseg *segment, const tseg_key *key, uint64_t lineage, uint64_t holder);

#endif
