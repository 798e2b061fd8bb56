/* The table of leases: shared by the files that change it. */
#ifndef TIERCEL_SEGMENT_LEASE_H
#define TIERCEL_SEGMENT_LEASE_H

#include "change.h"
#include "leases.h"

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
/* Whether the slot is free for another lease. */
bool tseg_lease_is_over(const tseg_lease_slot *slot, uint32_t epoch, uint64_t now_ns);
/* Finds the slot of the key's lease. *lineage is the lineage that was found, since it may end at any time. */
tseg_lease_slot *tseg_find_lease(const tseg *segment, const tseg_key *key, uint32_t epoch, uint64_t *lineage);
bool tseg_lease_has_lapsed(const tseg *segment, const tseg_lease_slot *slot, uint64_t holder, uint64_t now_ns);
void tseg_lease_describe(const tseg_lease_slot *slot, uint64_t lineage, tseg_lease *lease);
/* lease_take.c: gives the lease to the request's holder. The caller has the shard's lock. */
void tseg_lease_write_holder(const tseg *segment, tseg_lease_slot *slot, const tseg_lease_request *request,
                             uint64_t now_ns);

#endif
