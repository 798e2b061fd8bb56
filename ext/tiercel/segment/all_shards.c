/*
 * Work on all shards, one after the other, while other threads of the host run: they may move to another file
 * in the middle, and then it begins anew there.
 */
#include "internal.h"
#include "sweep.h"

/* For so long a clear resets logs before other threads have their turn. */
#define RESET_TURN_NS UINT64_C(5000000)

typedef struct shard_sweep {
    tseg_result (*visit)(struct shard_sweep *all); /* of the shard `shard`; TSEG_OK or TSEG_WOULD_WAIT */
    tseg *segment;
    uint32_t shard;
    tseg_result result;
} shard_sweep;

static void sweep_on(void *argument, const atomic_bool *stop)
{
    shard_sweep *all = argument;

    while (all->shard < all->segment->geometry.shards && !atomic_load(stop)) {
        all->result = all->visit(all);
        if (all->result != TSEG_OK) return;
        all->shard++;
    }
}

void tseg_wait_for_mover(tseg_turns *turns, tseg *segment, uint32_t shard, tseg_wait *wait)
{
    if (!turns->wait(turns, segment, shard, wait)) *wait = (tseg_wait){0};
}

/* Visits the shards without the host's lock. false: the host has moved to another file, where it begins anew. */
static bool sweep_all(tseg_turns *turns, shard_sweep *all)
{
    tseg_wait wait = {0};
    uint64_t file_id;

    all->segment = turns->current(turns);
    file_id = all->segment->file_id;
    while (all->shard < all->segment->geometry.shards) {
        bool would_wait = all->result == TSEG_WOULD_WAIT;
        all->result = TSEG_OK;
        if (would_wait) tseg_wait_for_mover(turns, all->segment, all->shard, &wait);
        else turns->run(turns, all->segment, sweep_on, all);
        all->segment = turns->current(turns); /* other threads ran */
        if (all->segment->file_id == file_id) continue;
        all->shard = 0;
        all->result = TSEG_OK;
        return false;
    }
    return true;
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
 * The logs are reset under the host's lock, since that takes the lock of a shard: only threads that have the host's
 * hold one. false: the host has moved to another file.
 */
static bool reset_emptied(tseg_turns *turns, const clear_sweep *clear, uint64_t file_id)
{
    uint64_t until_ns = tseg_monotonic_ns() + RESET_TURN_NS;

    for (uint32_t shard = 0; shard < clear->base.shard; shard++) {
        tseg *segment = turns->current(turns);
        if (segment->file_id != file_id) return false;
        if (clear->emptied[shard]) tseg_reset_shard(segment, shard);
        if (tseg_monotonic_ns() < until_ns) continue;
        turns->give_way(turns);
        until_ns = tseg_monotonic_ns() + RESET_TURN_NS;
    }
    return true;
}

static bool clear_file(tseg_turns *turns)
{
    tseg *segment = turns->current(turns);
    clear_sweep clear = {.base = {.visit = empty_shard}, .epoch = tseg_raise_epoch(segment)};
    uint64_t file_id = segment->file_id;

    return sweep_all(turns, &clear.base) && reset_emptied(turns, &clear, file_id);
}

void tseg_clear(tseg_turns *turns)
{
    while (!clear_file(turns)) {}
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

uint64_t tseg_clear_keys(tseg_turns *turns, const void *prefix, uint32_t count)
{
    prefix_sweep clear = {.base = {.visit = clear_prefix}, .prefix = prefix, .count = count};

    while (!sweep_all(turns, &clear.base)) {}
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

tseg *tseg_count_all(tseg_turns *turns, double now, tseg_stats *stats)
{
    stats_sweep counted = {.base = {.visit = count_shard}, .now = now, .stats = stats};

    *stats = (tseg_stats){0};
    while (!sweep_all(turns, &counted.base)) *stats = (tseg_stats){0};
    tseg_collect_process_stats(counted.base.segment, stats);
    return counted.base.segment;
}
