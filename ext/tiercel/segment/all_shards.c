/*
 * Work on all shards, one after the other, while other threads of the host run. Another thread may move to another
 * file in the middle of the work. The work then starts again in that file.
 */
#include "call.h"
#include "internal.h"
#include "sweep.h"

/* A clear resets logs for this long before it lets other threads run. */
#define RESET_TURN_NS UINT64_C(5000000)

typedef struct shard_sweep {
    tseg_result (*visit)(struct shard_sweep *all); /* visits the shard `shard`; TSEG_OK or TSEG_WOULD_WAIT */
    tseg *segment;
    uint32_t shard;
    tseg_result result;
} shard_sweep;

static bool sweep_on(void *argument, const atomic_bool *stop)
{
    shard_sweep *all = argument;

    for (; all->shard < all->segment->geometry.shards; all->shard++) {
        if (atomic_load(stop)) return false;
        all->result = all->visit(all);
        if (all->result != TSEG_OK) break;
    }
    return true;
}

/* Visits the shards without the host's lock. Returns TSEG_RETIRED if the host has moved to another file. */
static tseg_result sweep_all(tseg_host *host, shard_sweep *all)
{
    tseg_wait wait = {0};
    uint64_t file_id;

    all->segment = host->current(host);
    if (!all->segment) return TSEG_INTERRUPTED;
    file_id = all->segment->file_id;
    while (all->shard < all->segment->geometry.shards) {
        bool would_wait = all->result == TSEG_WOULD_WAIT;
        all->result = TSEG_OK;
        if (!(would_wait ? tseg_wait_in_pass(host, all->segment, all->shard, &wait)
                         : tseg_run_held(host, all->segment, sweep_on, all)))
            return TSEG_INTERRUPTED;
        all->segment = host->current(host); /* other threads ran */
        if (!all->segment) return TSEG_INTERRUPTED;
        if (all->segment->file_id == file_id) continue;
        all->shard = 0;
        all->result = TSEG_OK;
        return TSEG_RETIRED;
    }
    return TSEG_OK;
}

typedef struct {
    shard_sweep base;
    uint32_t epoch;
    bool emptied[TSEG_MAX_SHARDS];
} clear_sweep;

static tseg_result empty_shard(shard_sweep *base)
{
    clear_sweep *clear = (clear_sweep *)base;
    clear->emptied[base->shard] = tseg_empty_shard(base->segment, base->shard, clear->epoch);
    return TSEG_OK;
}

/*
 * Resets the logs of the emptied shards under the host's lock. A reset takes the lock of a shard, and only threads with
 * the host's lock may hold one. Returns TSEG_RETIRED if the host has moved to another file.
 */
static tseg_result reset_emptied(tseg_host *host, const clear_sweep *clear, uint64_t file_id)
{
    uint64_t until_ns = tseg_monotonic_ns() + RESET_TURN_NS;

    for (uint32_t shard = 0; shard < clear->base.shard; shard++) {
        tseg *segment = host->current(host);
        if (!segment) return TSEG_INTERRUPTED;
        if (segment->file_id != file_id) return TSEG_RETIRED;
        if (clear->emptied[shard]) tseg_reset_shard(segment, shard);
        if (tseg_monotonic_ns() < until_ns) continue;
        if (!host->yield(host)) return TSEG_INTERRUPTED;
        until_ns = tseg_monotonic_ns() + RESET_TURN_NS;
    }
    return TSEG_OK;
}

static tseg_result clear_file(tseg_host *host)
{
    tseg *segment = host->current(host);
    clear_sweep clear = {.base = {.visit = empty_shard}};
    uint64_t file_id;
    tseg_result result;

    if (!segment) return TSEG_INTERRUPTED;
    clear.epoch = tseg_raise_epoch(segment);
    file_id = segment->file_id;
    result = sweep_all(host, &clear.base);
    return result == TSEG_OK ? reset_emptied(host, &clear, file_id) : result;
}

bool tseg_clear(tseg_host *host)
{
    tseg_result result;

    do result = clear_file(host);
    while (result == TSEG_RETIRED);
    return result == TSEG_OK;
}

typedef struct {
    shard_sweep base;
    const void *prefix;
    uint32_t count;
    uint64_t cleared;
} prefix_sweep;

static tseg_result clear_prefix(shard_sweep *base)
{
    prefix_sweep *clear = (prefix_sweep *)base;
    return tseg_clear_prefix(base->segment, base->shard, clear->prefix, clear->count, &clear->cleared);
}

uint64_t tseg_clear_keys(tseg_host *host, const void *prefix, uint32_t count)
{
    prefix_sweep clear = {.base = {.visit = clear_prefix}, .prefix = prefix, .count = count};

    while (sweep_all(host, &clear.base) == TSEG_RETIRED) {}
    return clear.cleared;
}

typedef struct {
    shard_sweep base;
    double now;
    tseg_stats *stats;
} stats_sweep;

static tseg_result count_shard(shard_sweep *base)
{
    stats_sweep *counted = (stats_sweep *)base;

    tseg_collect_shard_stats(base->segment, base->shard, counted->now, counted->stats);
    return TSEG_OK;
}

tseg *tseg_count_all(tseg_host *host, double now, tseg_stats *stats)
{
    stats_sweep counted = {.base = {.visit = count_shard}, .now = now, .stats = stats};
    tseg_result result;

    do {
        *stats = (tseg_stats){0};
        result = sweep_all(host, &counted.base);
    } while (result == TSEG_RETIRED);
    if (result != TSEG_OK) return NULL;
    tseg_collect_process_stats(counted.base.segment, stats);
    return counted.base.segment;
}
