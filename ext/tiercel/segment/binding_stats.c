/* Segment#stats */
#include "binding.h"

static void put(VALUE hash, const char *name, uint64_t number)
{
    rb_hash_aset(hash, ID2SYM(rb_intern(name)), ULL2NUM(number));
}

static void put_evictions(VALUE hash, const tseg_stats *stats)
{
    const uint64_t *shard = stats->shard;

    put(hash, "evictions", shard[TSEG_COUNT_EVICTED_SMALL] + shard[TSEG_COUNT_EVICTED_MAIN] +
        shard[TSEG_COUNT_EVICTED_EXPIRED] + shard[TSEG_COUNT_EVICTED_BOUND] + shard[TSEG_COUNT_EVICTED_INDEX]);
    put(hash, "small_evictions", shard[TSEG_COUNT_EVICTED_SMALL]);
    put(hash, "main_evictions", shard[TSEG_COUNT_EVICTED_MAIN]);
    put(hash, "expired_evictions", shard[TSEG_COUNT_EVICTED_EXPIRED]);
    put(hash, "bound_evictions", shard[TSEG_COUNT_EVICTED_BOUND]);
    put(hash, "index_evictions", shard[TSEG_COUNT_EVICTED_INDEX]);
    put(hash, "promotions", shard[TSEG_COUNT_PROMOTED]);
    put(hash, "reappends", shard[TSEG_COUNT_REAPPENDED]);
    put(hash, "in_place_writes", stats->process[TSEG_COUNT_IN_PLACE]);
    put(hash, "appended_writes", stats->process[TSEG_COUNT_APPENDED]);
    put(hash, "ghost_hits", shard[TSEG_COUNT_GHOST_HITS]);
    put(hash, "lock_takeovers", shard[TSEG_COUNT_TAKEOVERS]);
    put(hash, "resets", shard[TSEG_COUNT_RESETS]);
}

static void put_leases(VALUE hash, const tseg_stats *stats)
{
    put(hash, "leases", stats->leases);
    put(hash, "leases_taken", stats->process[TSEG_COUNT_LEASES_TAKEN]);
    put(hash, "lease_waits", stats->process[TSEG_COUNT_LEASE_WAITS]);
    put(hash, "lease_takeovers", stats->process[TSEG_COUNT_LEASE_TAKEOVERS]);
    put(hash, "lease_table_full", stats->process[TSEG_COUNT_LEASE_FULL]);
    put(hash, "lease_fills_lost", stats->process[TSEG_COUNT_LEASE_FILLS_LOST]);
}

/* The memo belongs to this process. */
static void put_memo(VALUE hash, const tseg_memo *memo)
{
    put(hash, "memo_entries", memo->count);
    put(hash, "memo_bytes", memo->bytes);
    put(hash, "memo_limit_bytes", memo->limit_bytes);
    put(hash, "memo_hits", memo->hits);
    put(hash, "memo_evictions", memo->evictions);
}

/* Segment#stats -> Hash */
static VALUE segment_stats(VALUE self)
{
    VALUE hash = rb_hash_new();
    tseg *segment = segment_current(self);
    tseg_geometry geometry = segment->geometry;
    tseg_stats stats;

    tseg_collect_stats(segment, &stats);

    put(hash, "entries", stats.entries);
    put(hash, "bytes", stats.live_bytes);
    put(hash, "dead_bytes", stats.used_bytes > stats.live_bytes ? stats.used_bytes - stats.live_bytes : 0);
    put(hash, "log_bytes", stats.log_bytes);
    put(hash, "size_bytes", geometry.file_bytes);
    put(hash, "shards", geometry.shards);
    put(hash, "processes", stats.processes);
    put(hash, "hits", stats.process[TSEG_COUNT_HITS]);
    put(hash, "misses", stats.process[TSEG_COUNT_MISSES]);
    put(hash, "writes", stats.process[TSEG_COUNT_WRITES]);
    put(hash, "deletes", stats.process[TSEG_COUNT_DELETES]);
    put(hash, "refused_writes", stats.process[TSEG_COUNT_REFUSED]);
    put(hash, "lock_waits", stats.process[TSEG_COUNT_LOCK_WAITS]);
    put(hash, "lock_timeouts", stats.process[TSEG_COUNT_LOCK_TIMEOUTS]);
    put(hash, "read_retries", stats.process[TSEG_COUNT_READ_RETRIES]);
    put_leases(hash, &stats);
    put_evictions(hash, &stats);
    put_memo(hash, &segment_handle_of(self)->memo);
    return hash;
}

static uint64_t counted_here(const tseg *segment, int counter)
{
    return tseg_load(&segment->self->counters[counter]) - segment->counted_before[counter];
}

/*
 * Segment#counters -> Hash of the figures that tiercel-insight adds up. Reads no entry. The Hash is empty for closed
 * private memory. A child process reads the counters of private memory before its first call, so this method registers
 * no process with private memory.
 */
static VALUE segment_counters(VALUE self)
{
    const tseg_handle *handle = segment_handle_of(self);
    tseg *segment = handle->path ? segment_current(self) : handle->attached;
    tseg_stats stats = {0};
    VALUE hash = rb_hash_new();

    if (!segment) return hash;
    tseg_collect_counters(segment, &stats);
    put(hash, "file_id", segment->file_id);
    put(hash, "served", stats.process[TSEG_COUNT_SERVED]);
    put(hash, "writes", stats.process[TSEG_COUNT_WRITES]);
    put(hash, "deletes", stats.process[TSEG_COUNT_DELETES]);
    put(hash, "misses", stats.process[TSEG_COUNT_MISSES]);
    put(hash, "served_here", counted_here(segment, TSEG_COUNT_SERVED));
    put(hash, "misses_here", counted_here(segment, TSEG_COUNT_MISSES));
    put(hash, "writes_here", counted_here(segment, TSEG_COUNT_WRITES));
    put(hash, "deletes_here", counted_here(segment, TSEG_COUNT_DELETES));
    put_evictions(hash, &stats);
    return hash;
}

void segment_init_stats(void)
{
    rb_define_method(tiercel_segment_class, "stats", segment_stats, 0);
    rb_define_method(tiercel_segment_class, "counters", segment_counters, 0);
}
