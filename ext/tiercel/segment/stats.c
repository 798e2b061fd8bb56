/* Figures of a segment, from counters alone. */
#include "leases.h"
#include "internal.h"
#include "sweep.h"

static void add_shard_counters(const tseg_shard *control, tseg_stats *stats)
{
    for (int i = 0; i < TSEG_SHARD_COUNTERS; i++) stats->shard[i] += tseg_load(&control->counters[i]);
}

static void add_process_counters(const tseg *segment, tseg_stats *stats)
{
    for (uint32_t slot = 0; slot < segment->geometry.process_slots; slot++)
        for (int i = 0; i < TSEG_PROCESS_COUNTERS; i++)
            stats->process[i] += tseg_load(&segment->processes[slot].counters[i]);
}

/* Processes that were killed may have left a count too low, so it may be negative. */
static uint64_t at_least_0(uint64_t half) { return half & UINT64_C(0x80000000) ? 0 : half; }

static void add_content(const tseg *segment, const tseg_shard *control, tseg_stats *stats)
{
    uint64_t live = tseg_load(&control->live);
    bool cleared = tseg_load(&control->emptied) != tseg_epoch(segment);

    for (int log = 0; log < TSEG_LOGS; log++) {
        uint64_t used = tseg_load(&control->head[log]) - tseg_load(&control->tail[log]);
        stats->log_bytes += segment->geometry.log_units[log] * TSEG_UNIT;
        if (!cleared && used <= segment->geometry.log_units[log]) stats->used_bytes += used * TSEG_UNIT;
    }
    if (cleared) return;
    stats->entries += at_least_0(tseg_high_half(live));
    stats->live_bytes += at_least_0(tseg_low_half(live)) * TSEG_UNIT;
}

void tseg_collect_counters(tseg *segment, tseg_stats *stats)
{
    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++)
        add_shard_counters(tseg_view_of(segment, shard).control, stats);
    add_process_counters(segment, stats);
}

void tseg_collect_stats(tseg *segment, tseg_stats *stats)
{
    *stats = (tseg_stats){.leases = tseg_lease_count(segment),
                          .processes = (uint64_t)tseg_registered(segment, NULL, 0)};
    tseg_collect_counters(segment, stats);
    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++)
        add_content(segment, tseg_view_of(segment, shard).control, stats);
}
