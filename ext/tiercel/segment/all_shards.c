/*
 * Work on all shards, one after the other, while other threads of the host run. Another thread may move to another
 * file in the middle of the work. The work then starts again in that file.
 */
#include "call.h"
#include "internal.h"
#include "sweep.h"

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

bool tseg_clear(tseg_host *host)
{
    tseg *segment;

    do {
        segment = host->current(host);
        if (!segment) return false;
        tseg_clear_at_once(segment);
    } while (tseg_is_retired(segment)); /* other processes may already have written into the new file */
    return true;
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
