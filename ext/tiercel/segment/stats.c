/* Figures of a segment. A pass over the index counts the entries, because running totals would drift. */
#include "leases.h"
#include "slot_entry.h"
#include "sweep.h"

static void add_shard_counters(const tseg_shard *control, tseg_stats *stats)
{
    for (int i = 0; i < TSEG_SHARD_COUNTERS; i++) stats->shard[i] += tseg_load(&control->counters[i]);
}

void tseg_collect_shard_stats(tseg *segment, uint32_t shard, double now, tseg_stats *stats)
{
    const tseg_view view = tseg_view_of(segment, shard);

    add_shard_counters(view.control, stats);
    for (int log = 0; log < TSEG_LOGS; log++) {
        uint64_t used = tseg_load(&view.control->head[log]) - tseg_load(&view.control->tail[log]);
        stats->log_bytes += segment->geometry.log_units[log] * TSEG_UNIT;
        if (used <= segment->geometry.log_units[log]) stats->used_bytes += used * TSEG_UNIT;
    }
    for (uint32_t i = 0; i < segment->index_slots; i++) {
        uint64_t word = tseg_load_acquire(view.index + i);
        tseg_slot_entry entry;
        if (!word || !tseg_read_slot(segment, &view, word, &entry) || !tseg_is_in_log(&view, word)) continue;
        if (entry.epoch != tseg_epoch(segment) || !(entry.expires_at > now)) continue;
        stats->entries++;
        stats->live_bytes += entry.units * TSEG_UNIT;
        stats->payload_bytes += entry.key_bytes + entry.value_bytes;
    }
}

static void add_process_counters(const tseg *segment, tseg_stats *stats)
{
    for (uint32_t slot = 0; slot < segment->geometry.process_slots; slot++)
        for (int i = 0; i < TSEG_PROCESS_COUNTERS; i++)
            stats->process[i] += tseg_load(&segment->processes[slot].counters[i]);
}

void tseg_collect_counters(tseg *segment, tseg_stats *stats)
{
    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++)
        add_shard_counters(tseg_view_of(segment, shard).control, stats);
    add_process_counters(segment, stats);
}

void tseg_collect_process_stats(tseg *segment, tseg_stats *stats)
{
    add_process_counters(segment, stats);
    stats->leases = tseg_lease_count(segment);
    stats->processes = (uint64_t)tseg_registered(segment, NULL, 0);
}
