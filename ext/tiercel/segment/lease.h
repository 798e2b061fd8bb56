/* The table of leases, as the files that change it share it. */
#ifndef TIERCEL_SEGMENT_LEASE_H
#define TIERCEL_SEGMENT_LEASE_H

#include "change.h"
#include "leases.h"

#define TSEG_NS_PER_S UINT64_C(1000000000)
/* A later end was altered from outside. */
#define TSEG_LEASE_MAX_TTL_NS (86400 * TSEG_NS_PER_S)
/* How long a lineage outlives its lease: ten times the lease's time, and at least a minute; given back, two seconds. */
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

/* Of those whose bits are set, which becomes one less. */
static inline tseg_lease_slot *tseg_next_lease_slot(tseg_lease_group *group, uint64_t *bits)
{
    tseg_lease_slot *slot = &group->slots[__builtin_ctzll(*bits)];
    *bits &= *bits - 1;
    return slot;
}

uint32_t tseg_lease_check(const tseg *segment, const tseg_key *key);
/* After a change: wakes who sleeps on the slot. */
void tseg_lease_signal(tseg_lease_slot *slot);
/* false: it was ended, or is another lease by now. */
bool tseg_lease_end_lineage(tseg_lease_slot *slot, uint64_t lineage);
/* Under the lock, like whatever else gives a slot or takes it. */
void tseg_lease_free_slot(tseg_lease_group *group, const tseg_lease_slot *slot);
/* Nobody needs it any more: its lineage was ended, or outlived its lease for as long as it may, or was cleared. */
bool tseg_lease_is_over(const tseg_lease_slot *slot, uint32_t epoch, uint64_t now_ns);
/* The slot of the key's lease; its lineage comes back too, for it may be ended at any time. */
tseg_lease_slot *tseg_find_lease(const tseg *segment, const tseg_key *key, uint32_t epoch, uint64_t *lineage);
bool tseg_lease_has_lapsed(const tseg *segment, const tseg_lease_slot *slot, uint64_t holder, uint64_t now_ns);
void tseg_lease_describe(const tseg_lease_slot *slot, uint64_t lineage, tseg_lease *lease);
/* lease_take.c: under the lock; from now on it is this holder's. */
void tseg_lease_write_holder(const tseg *segment, tseg_lease_slot *slot, const tseg_lease_request *request,
                             uint64_t now_ns);

#endif
