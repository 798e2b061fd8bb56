/* The table of leases. The table lies beside the logs, so evictions do not touch it. "Leases" in memory-model.md. */
#include "entries.h"

/* Number of attempts of a call that ends a lineage, if another lease gets the slot in between. */
#define TSEG_LEASE_TRIES 64u

static uint64_t hash_again(const tseg *segment, const void *bytes, size_t count)
{
    const uint64_t other_key[2] = {~segment->hash_key[0], segment->hash_key[1]};
    return tseg_siphash(other_key, bytes, count);
}

uint32_t tseg_lease_version(const tseg *segment, const void *bytes, size_t count)
{
    return (uint32_t)hash_again(segment, bytes, count) | 1;
}

uint32_t tseg_lease_check(const tseg *segment, const tseg_key *key)
{
    return (uint32_t)(hash_again(segment, key->bytes, key->count) >> 32);
}

/* Called after a change. A caller sleeps on the slot only if bit 0 was set after the last change. */
void tseg_lease_signal(tseg_lease_slot *slot)
{
    if (!(atomic_fetch_add(&slot->signal, 2) & 1)) return;
    atomic_fetch_and(&slot->signal, ~UINT32_C(1));
    tseg_wake(&slot->signal);
}

/* Returns false if the lineage had ended before. */
bool tseg_lease_end_lineage(tseg_lease_slot *slot, uint64_t lineage)
{
    if (!tseg_swap(&slot->lineage, &lineage, 0)) return false;
    tseg_lease_signal(slot);
    return true;
}

/*
 * The next three functions end lineages: those of a key; those of a shard that are older than an epoch; all of a
 * segment. The functions acquire no lock, and wake the waiters of the ended lineages.
 */
void tseg_lease_end(const tseg *segment, const tseg_key *key)
{
    tseg_lease_group *group = tseg_lease_group_of(segment, key);
    uint64_t bits = tseg_lease_bits(group, key);

    while (bits) {
        tseg_lease_slot *slot = tseg_next_lease_slot(group, &bits);
        for (unsigned attempt = 0; attempt < TSEG_LEASE_TRIES; attempt++) {
            uint64_t lineage = tseg_load_acquire(&slot->lineage);
            if (!lineage || tseg_load(&slot->hash) != key->hash || tseg_lease_end_lineage(slot, lineage)) break;
        }
    }
}

/*
 * Every delete begins with this call, so that no fill which has begun before it can store its value. The fence comes
 * between the change that the delete belongs to and the look for leases: see begin_lineage.
 */
void tseg_begin_delete(const tseg *segment, const tseg_key *key)
{
    tseg_fence(memory_order_seq_cst);
    if (TSEG_UNLIKELY(tseg_has_leases(segment, key))) tseg_lease_end(segment, key);
}

void tseg_lease_end_all(const tseg *segment, uint32_t shard, uint32_t epoch)
{
    tseg_lease_group *group = segment->leases + (uint64_t)shard * segment->shard_lease_groups;

    tseg_fence(memory_order_seq_cst);
    for (uint32_t i = 0; i < segment->shard_lease_groups; i++, group++) {
        uint64_t bits = tseg_load_acquire(&group->used);
        while (bits) {
            tseg_lease_slot *slot = tseg_next_lease_slot(group, &bits);
            for (unsigned attempt = 0; attempt < TSEG_LEASE_TRIES; attempt++) {
                uint64_t lineage = tseg_load_acquire(&slot->lineage);
                if (!lineage || (int32_t)(tseg_load_half(&slot->epoch) - epoch) >= 0) break;
                if (tseg_lease_end_lineage(slot, lineage)) break;
            }
        }
    }
}

void tseg_lease_end_everywhere(const tseg *segment)
{
    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++)
        tseg_lease_end_all(segment, shard, tseg_epoch(segment) + 1);
}

/* The caller has the shard's lock. */
void tseg_lease_free_slot(tseg_lease_group *group, const tseg_lease_slot *slot)
{
    atomic_fetch_and_explicit(&group->used, ~(UINT64_C(1) << (slot - group->slots)), memory_order_release);
}

/*
 * Returns whether the slot is free for another lease: if its lineage has ended, has outlived the lease for long enough,
 * or is of an earlier epoch.
 */
bool tseg_lease_is_over(const tseg_lease_slot *slot, uint32_t epoch, uint64_t now_ns)
{
    uint32_t kept_until = tseg_load_half(&slot->kept_until), now_s = (uint32_t)(now_ns / TSEG_NS_PER_S);

    return !tseg_load(&slot->lineage) || (int32_t)(tseg_load_half(&slot->epoch) - epoch) < 0 || kept_until <= now_s ||
           kept_until - now_s > (TSEG_LEASE_OUTLIVES + 1) * (uint32_t)(TSEG_LEASE_MAX_TTL_NS / TSEG_NS_PER_S);
}

/* tseg_lease_end for a write, which holds the lock. The write also frees the slots of leases that have ended. */
void tseg_lease_end_written(tseg_section *section, const tseg_key *key)
{
    tseg_lease_group *group = tseg_lease_group_of(section->segment, key);
    uint64_t bits = tseg_lease_bits(group, key), now_ns = tseg_monotonic_ns();

    tseg_lease_end(section->segment, key);
    while (bits) {
        tseg_lease_slot *slot = tseg_next_lease_slot(group, &bits);
        uint64_t lineage = tseg_load_acquire(&slot->lineage);
        if (!tseg_lease_is_over(slot, section->epoch, now_ns)) continue;
        if (lineage) tseg_lease_end_lineage(slot, lineage);
        tseg_lease_free_slot(group, slot);
    }
}

/* Finds the slot of the key's lease. *lineage is the lineage that was found, since it may end at any time. */
tseg_lease_slot *tseg_find_lease(const tseg *segment, const tseg_key *key, uint32_t epoch, uint64_t *lineage)
{
    tseg_lease_group *group = tseg_lease_group_of(segment, key);
    uint64_t bits = tseg_lease_bits(group, key);
    uint32_t check = bits ? tseg_lease_check(segment, key) : 0;

    while (bits) {
        tseg_lease_slot *slot = tseg_next_lease_slot(group, &bits);
        *lineage = tseg_load_acquire(&slot->lineage);
        if (*lineage && tseg_load(&slot->hash) == key->hash && tseg_load_half(&slot->check) == check &&
            tseg_load_half(&slot->epoch) == epoch)
            return slot;
    }
    return NULL;
}

bool tseg_lease_has_lapsed(const tseg *segment, const tseg_lease_slot *slot, uint64_t holder, uint64_t now_ns)
{
    uint64_t lapses_ns = tseg_load(&slot->lapses_ns);

    if (lapses_ns <= now_ns || lapses_ns - now_ns > TSEG_LEASE_MAX_TTL_NS) return true;
    return holder != TSEG_LEASE_PAUSED && tseg_owner_is_dead(segment, tseg_load(&slot->owner));
}

void tseg_lease_describe(const tseg_lease_slot *slot, uint64_t lineage, tseg_lease *lease)
{
    lease->lineage = lineage;
    lease->holder = tseg_load_acquire(&slot->holder);
    lease->lapses_ns = tseg_load(&slot->lapses_ns);
    lease->version = tseg_load_half(&slot->version);
}

/*
 * The state of a lease for a caller that saw it with this holder. With `to_wait`, a later change wakes a tseg_sleep on
 * the lease's signal.
 */
tseg_lease_state tseg_lease_look(const tseg *segment, const tseg_key *key, uint64_t lineage, uint64_t holder,
                                 bool to_wait, tseg_lease *lease)
{
    uint64_t found = 0;
    tseg_lease_slot *slot = tseg_find_lease(segment, key, tseg_epoch(segment), &found);

    if (!slot || found != lineage) return TSEG_LEASE_GONE;
    /* The signal is read before the lease, so that every later change ends the sleep. */
    lease->signal = &slot->signal;
    lease->signal_seen = to_wait ? atomic_fetch_or(&slot->signal, 1) | 1 : atomic_load(&slot->signal);
    tseg_lease_describe(slot, lineage, lease);
    if (tseg_load_acquire(&slot->lineage) != lineage) return TSEG_LEASE_GONE;
    if (lease->holder == TSEG_LEASE_RELEASED || lease->holder == TSEG_LEASE_PAUSED) return TSEG_LEASE_GIVEN_BACK;
    /* The holder has released the lease, and another holder has acquired it since. */
    if (lease->holder != holder && tseg_load_half(&slot->released) == (uint32_t)holder) return TSEG_LEASE_GIVEN_BACK;
    if (tseg_lease_has_lapsed(segment, slot, lease->holder, tseg_monotonic_ns())) return TSEG_LEASE_LAPSED;
    return TSEG_LEASE_STANDS;
}

bool tseg_lease_is_held(const tseg *segment, const tseg_lease_slot *slot, uint64_t now_ns)
{
    uint64_t holder = tseg_load(&slot->holder);
    return holder != TSEG_LEASE_RELEASED && !tseg_lease_has_lapsed(segment, slot, holder, now_ns);
}

/* The number of leases that are held. */
uint64_t tseg_lease_count(const tseg *segment)
{
    uint64_t count = 0, now_ns = tseg_monotonic_ns();

    for (uint64_t i = 0; i < segment->geometry.lease_groups; i++) {
        uint64_t bits = tseg_load_acquire(&segment->leases[i].used);
        while (bits) {
            const tseg_lease_slot *slot = tseg_next_lease_slot(&segment->leases[i], &bits);
            if (tseg_lease_is_over(slot, tseg_epoch(segment), now_ns)) continue;
            count += tseg_lease_is_held(segment, slot, now_ns);
        }
    }
    return count;
}

/* Ends the lineage on behalf of its fill. Returns false if the lineage had ended before. */
bool tseg_lease_consume(tseg_lease_slot *slot, uint64_t lineage) { return tseg_swap(&slot->lineage, &lineage, 0); }
