/* Fills and releases: the two ways in which a holder ends its lease. */
#include <math.h>

#include "lease.h"

bool tseg_lease_consume(const tseg_change *change)
{
    uint64_t lineage = change->lineage;
    return tseg_swap(&change->lease->lineage, &lineage, 0);
}

static tseg_result refuse_fill(tseg *segment, const tseg_key *key, tseg_lease_slot *slot, uint64_t lineage)
{
    double expires_at;

    if (!tseg_lease_end_lineage(slot, lineage)) return TSEG_CHANGED;
    tseg_delete(segment, key, &expires_at);
    return tseg_refuse(segment);
}

static bool is_entry_of(const tseg *segment, const tseg_entry *entry, const tseg_token *token)
{
    tseg_token found = tseg_token_of(segment, entry);
    return token && tseg_is_same(&found, token);
}

tseg_result tseg_lease_fill(tseg *segment, const tseg_key *key, uint64_t lineage, const tseg_value *value,
                            double expires_at, double now)
{
    tseg_change change = {.key = key, .value = value, .expires_at = expires_at, .may_take_empty_slot = true,
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
    if (result == TSEG_CHANGED) tseg_bump(&segment->self->counters[TSEG_COUNT_LEASE_FILLS_LOST]);
    return result;
}

tseg_result tseg_lease_fill_unheld(tseg *segment, const tseg_key *key, const tseg_unheld *unheld,
                                   const tseg_token *replaces, const tseg_value *value, double expires_at, double now)
{
    tseg_change change = {.key = key, .value = value, .expires_at = expires_at, .may_take_empty_slot = true,
                          .published_odd = true, .watched = &tseg_view_of(segment, key->shard).control->deletes,
                          .expected = unheld->deletes};
    tseg_section section;
    tseg_entry old;
    tseg_result result;
    bool found;

    if (unheld->file_id != segment->file_id) return TSEG_CHANGED;
    if (tseg_too_large(segment, &change)) return tseg_refuse(segment);
    result = tseg_enter(&section, segment, key->shard, now);
    if (result != TSEG_OK) return result;
    found = tseg_find(segment, key, &old) == TSEG_OK;
    /* The epoch is that from before the computation, so a later clear makes the entry a miss. */
    if (unheld->epoch != section.epoch) result = TSEG_CHANGED;
    else if (found && tseg_is_live_in(&section, &old) && !is_entry_of(segment, &old, replaces)) result = TSEG_CHANGED;
    else result = tseg_append(&section, &change, found ? &old : NULL);
    if (result == TSEG_OK && tseg_has_leases(segment, key)) tseg_lease_end_written(&section, key);
    tseg_leave(&section);
    if (result == TSEG_OK) tseg_count_write(segment);
    if (result == TSEG_CHANGED) tseg_bump(&segment->self->counters[TSEG_COUNT_LEASE_FILLS_LOST]);
    return result;
}

tseg_result tseg_lease_abandon(const tseg *segment, const tseg_key *key, uint64_t lineage, uint64_t holder)
{
    uint64_t found = 0;
    tseg_lease_slot *slot = tseg_find_lease(segment, key, tseg_epoch(segment), &found);

    if (!slot || found != lineage || tseg_load(&slot->owner) != tseg_load(&segment->owner)) return TSEG_ABSENT;
    if (holder && tseg_load(&slot->holder) != holder) return TSEG_ABSENT;
    return tseg_lease_end_lineage(slot, lineage) ? TSEG_OK : TSEG_ABSENT;
}

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
            tseg_lease_write_holder(segment, slot, &request, now_ns);
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
