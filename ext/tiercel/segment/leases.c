/*
 * Acquiring a lease: a slot for it, the takeover of a lapsed lease, and the value that reads see until the fill.
 * Filling and releasing: the two ways in which a holder ends its lease.
 */
#include "entries.h"

/* A new lease gets the slot with the lowest rank. UINT64_MAX: the slot's lease is valid, so the slot is not free. */
static uint64_t rank_of(const tseg *segment, const tseg_lease_slot *slot, uint32_t epoch, uint64_t now_ns)
{
    uint64_t holder = tseg_load(&slot->holder);

    if (tseg_lease_is_over(slot, epoch, now_ns)) return 0;
    if (holder == TSEG_LEASE_RELEASED) return 1;
    if (!tseg_lease_has_lapsed(segment, slot, holder, now_ns)) return UINT64_MAX;
    return tseg_load(&slot->lapses_ns) / 2 + 2;
}

/* Finds a slot for a new lease: a free one, or one whose lease is over, released or lapsed. */
static tseg_lease_slot *find_slot(const tseg *segment, tseg_lease_group *group, const tseg_key *key, uint32_t epoch,
                                  uint64_t now_ns)
{
    uint64_t bits = tseg_lease_bits(group, key), free_bits = tseg_lease_window(key) & ~bits, lineage;
    uint64_t least = UINT64_MAX;
    tseg_lease_slot *chosen = NULL;

    if (free_bits) return tseg_next_lease_slot(group, &free_bits);
    while (bits) {
        tseg_lease_slot *slot = tseg_next_lease_slot(group, &bits);
        uint64_t rank = rank_of(segment, slot, epoch, now_ns);
        if (rank >= least) continue;
        least = rank;
        chosen = slot;
    }
    if (chosen && (lineage = tseg_load_acquire(&chosen->lineage)) != 0) tseg_lease_end_lineage(chosen, lineage);
    return chosen;
}

static void write_holder(const tseg *segment, tseg_lease_slot *slot, const tseg_lease_request *request,
                         uint64_t now_ns)
{
    uint64_t ttl_ns = request->ttl_ns < TSEG_LEASE_MAX_TTL_NS ? request->ttl_ns : TSEG_LEASE_MAX_TTL_NS;
    uint64_t kept_s = TSEG_LEASE_OUTLIVES * ttl_ns / TSEG_NS_PER_S;

    if (kept_s < TSEG_LEASE_LEAST_KEPT_S) kept_s = TSEG_LEASE_LEAST_KEPT_S;
    tseg_store(&slot->owner, tseg_load(&segment->owner));
    tseg_store(&slot->lapses_ns, now_ns + ttl_ns);
    tseg_store_half(&slot->kept_until, (uint32_t)((now_ns + ttl_ns) / TSEG_NS_PER_S + 1 + kept_s));
    tseg_store_half(&slot->version, request->version);
    tseg_store_release(&slot->holder, request->holder);
}

static tseg_lease_slot *begin_lineage(tseg_section *section, const tseg_key *key, const tseg_lease_request *request,
                                      uint64_t now_ns)
{
    const tseg *segment = section->segment;
    tseg_lease_group *group = tseg_lease_group_of(segment, key);
    tseg_lease_slot *slot = find_slot(segment, group, key, section->epoch, now_ns);

    if (!slot) return NULL;
    /* If the process dies before it stores the lineage, the next write of a key nearby frees the slot. */
    atomic_fetch_or(&group->used, UINT64_C(1) << (slot - group->slots));
    tseg_store(&slot->hash, key->hash);
    tseg_store_half(&slot->check, tseg_lease_check(segment, key));
    tseg_store_half(&slot->epoch, section->epoch);
    tseg_store_half(&slot->released, 0);
    write_holder(segment, slot, request, now_ns);
    TSEG_STOP_HERE(TSEG_STOP_BEFORE_LINEAGE);
    tseg_store_release(&slot->lineage, request->lineage);
    /*
     * The fence comes before the computation reads anything. A delete looks for leases after the change it belongs to.
     */
    tseg_fence(memory_order_seq_cst);
    return slot;
}

/* Continues the present lineage. Returns false if it has ended concurrently. */
static bool take_over(tseg_section *section, tseg_lease_slot *slot, const tseg_lease_request *request, uint64_t lineage,
                      uint64_t now_ns)
{
    write_holder(section->segment, slot, request, now_ns);
    TSEG_STOP_HERE(TSEG_STOP_BEFORE_LINEAGE);
    return tseg_load_acquire(&slot->lineage) == lineage;
}

/* Prepares the entry that reads find during the computation. */
static tseg_result store_stale(tseg_section *section, const tseg_key *key, const tseg_lease_request *request,
                               const tseg_entry *old)
{
    tseg_change change = {.key = key, .value = request->stale, .expires_at = request->stale_expires_at,
                          .keeps_lease = true};
    tseg_result result;

    if (request->drops || (request->stale && tseg_too_large(section->segment, &change))) {
        tseg_drop_entry(section->view.control, old->slot, old->word, old->units);
        return TSEG_OK;
    }
    if (!request->stale) return TSEG_OK;
    section->tails_left = UINT32_MAX; /* the lease is acquired, so the call does not begin again */
    result = tseg_change_entry(section, &change, old);
    return result == TSEG_RETIRED ? result : TSEG_OK;
}

static tseg_result acquire_lease(tseg_section *section, const tseg_key *key, const tseg_lease_request *request,
                                 tseg_lease *lease)
{
    tseg *segment = section->segment;
    uint64_t now_ns = tseg_monotonic_ns(), lineage = 0;
    tseg_lease_slot *slot = tseg_find_lease(segment, key, section->epoch, &lineage);
    tseg_entry old;

    if (slot && tseg_lease_is_held(segment, slot, now_ns)) {
        tseg_lease_describe(slot, lineage, lease);
        return TSEG_HELD;
    }
    lease->has_entry = tseg_find(segment, key, &old) == TSEG_OK && tseg_is_live_in(section, &old);
    if (lease->has_entry) {
        tseg_token token = tseg_token_of(segment, &old);
        if (!request->replaces || !tseg_is_same(&token, request->replaces)) return TSEG_PRESENT;
    }
    lease->taken_over = slot && tseg_load(&slot->holder) != TSEG_LEASE_RELEASED;
    if (lease->taken_over) tseg_bump(&segment->self->counters[TSEG_COUNT_LEASE_TAKEOVERS]);
    if (!slot || !take_over(section, slot, request, lineage, now_ns)) {
        slot = begin_lineage(section, key, request, now_ns);
        if (!slot) return TSEG_FULL;
        lineage = request->lineage;
    }
    tseg_lease_describe(slot, lineage, lease);
    return lease->has_entry ? store_stale(section, key, request, &old) : TSEG_OK;
}

/*
 * TSEG_OK: the caller holds the lease, and *lease has its lineage. TSEG_HELD: *lease is another holder's, which has not
 * lapsed. TSEG_PRESENT: the key has another entry than `replaces`. TSEG_FULL: no slot is free.
 */
tseg_result tseg_lease_acquire(tseg *segment, const tseg_key *key, const tseg_lease_request *request, double now,
                               tseg_lease *lease)
{
    tseg_section section;
    tseg_result result;

    /* This process registers first: one that counts as dead itself must not declare another holder dead. */
    if (tseg_lease_bits(tseg_lease_group_of(segment, key), key)) tseg_keep_registered(segment);
    result = tseg_enter(&section, segment, key->shard, now);
    if (result != TSEG_OK) return result;
    result = acquire_lease(&section, key, request, lease);
    tseg_leave(&section);
    if (result == TSEG_FULL) tseg_bump(&segment->self->counters[TSEG_COUNT_LEASE_FULL]);
    return result;
}

static tseg_result refuse_fill(tseg *segment, const tseg_key *key, tseg_lease_slot *slot, uint64_t lineage)
{
    double expires_at;

    if (!tseg_lease_end_lineage(slot, lineage)) return TSEG_CHANGED;
    tseg_delete(segment, key, &expires_at);
    return tseg_refuse(segment);
}

/* TSEG_OK, or TSEG_CHANGED if the lineage has ended. TSEG_TOO_LARGE ends the lineage too. */
tseg_result tseg_lease_fill(tseg *segment, const tseg_key *key, uint64_t lineage, const tseg_value *value,
                            double expires_at, double now)
{
    tseg_change change = {.key = key, .value = value, .expires_at = expires_at, .may_use_empty_slot = true,
                          .published_odd = true, .keeps_lease = true, .lineage = lineage};
    uint64_t found = 0;
    tseg_section section;
    tseg_entry old;
    tseg_result result;

    tseg_map_ahead(segment, &change);
    result = tseg_enter(&section, segment, key->shard, now);
    if (result != TSEG_OK) return result;
    change.lease = tseg_find_lease(segment, key, section.epoch, &found);
    if (!lineage || !change.lease || found != lineage) result = TSEG_CHANGED;
    else if (tseg_too_large(segment, &change)) result = refuse_fill(segment, key, change.lease, lineage);
    else result = tseg_change_entry(&section, &change, tseg_find(segment, key, &old) == TSEG_OK ? &old : NULL);
    if (result == TSEG_OK) {
        tseg_lease_free_slot(tseg_lease_group_of(segment, key), change.lease);
        tseg_lease_signal(change.lease);
    }
    tseg_leave(&section);
    if (result == TSEG_OK) tseg_count_write(segment);
    return result;
}

/*
 * For a fill or a release that cannot acquire the lock: ends the lineage without the lock, so that waiters continue.
 * Returns TSEG_ABSENT and does nothing if another process has the lease by now, or a holder other than `holder` (0: any
 * holder of this process).
 */
tseg_result tseg_lease_abandon(const tseg *segment, const tseg_key *key, uint64_t lineage, uint64_t holder)
{
    uint64_t found = 0;
    tseg_lease_slot *slot = tseg_find_lease(segment, key, tseg_epoch(segment), &found);

    if (!slot || found != lineage || tseg_load(&slot->owner) != tseg_load(&segment->owner)) return TSEG_ABSENT;
    if (holder && tseg_load(&slot->holder) != holder) return TSEG_ABSENT;
    return tseg_lease_end_lineage(slot, lineage) ? TSEG_OK : TSEG_ABSENT;
}

/* Returns TSEG_ABSENT if the holder has lost the lease. For the next pause_ns no caller gets the lease. */
tseg_result tseg_lease_release(tseg *segment, const tseg_key *key, uint64_t lineage, uint64_t holder, uint64_t pause_ns)
{
    tseg_lease_request request = {.holder = TSEG_LEASE_PAUSED, .ttl_ns = pause_ns};
    uint64_t found = 0, now_ns;
    tseg_lease_slot *slot;
    tseg_section section;
    tseg_result result;

    /* After a delete or an abandoned fill the lease is gone. Then the call needs no lock. */
    slot = tseg_find_lease(segment, key, tseg_epoch(segment), &found);
    if (!slot || found != lineage) return TSEG_ABSENT;
    result = tseg_enter(&section, segment, key->shard, -INFINITY);
    if (result != TSEG_OK) return result;
    now_ns = tseg_monotonic_ns();
    slot = tseg_find_lease(segment, key, section.epoch, &found);
    if (slot && found == lineage && tseg_load(&slot->holder) == holder) {
        tseg_store_half(&slot->released, (uint32_t)holder);
        if (pause_ns) {
            request.version = tseg_load_half(&slot->version);
            write_holder(segment, slot, &request, now_ns);
        } else {
            tseg_store_half(&slot->kept_until, (uint32_t)(now_ns / TSEG_NS_PER_S + 1 + TSEG_LEASE_RELEASED_KEPT_S));
            tseg_store_release(&slot->holder, TSEG_LEASE_RELEASED);
        }
        tseg_lease_signal(slot);
    } else {
        result = TSEG_ABSENT;
    }
    tseg_leave(&section);
    return result;
}
