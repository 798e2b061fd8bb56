#include "binding.h"

/* Segment#stats */
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
    put(hash, "reappends", shard[TSEG_COUNT_REAPPENDED]);
    put(hash, "ghost_hits", shard[TSEG_COUNT_GHOST_HITS]);
    put(hash, "lock_takeovers", shard[TSEG_COUNT_TAKEOVERS]);
    put(hash, "resets", shard[TSEG_COUNT_RESETS]);
}

static void put_leases(VALUE hash, const tseg_stats *stats)
{
    put(hash, "leases", stats->leases);
    put(hash, "lease_waits", stats->process[TSEG_COUNT_LEASE_WAITS]);
    put(hash, "lease_takeovers", stats->process[TSEG_COUNT_LEASE_TAKEOVERS]);
    put(hash, "lease_table_full", stats->process[TSEG_COUNT_LEASE_FULL]);
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

/* Walks over the entries of a segment. */
static VALUE key_string(const tseg_batch *batch, unsigned i)
{
    return rb_enc_str_new((const char *)batch->bytes + batch->entries[i].key_offset, batch->entries[i].key_bytes,
                          rb_utf8_encoding());
}

static VALUE describe(const tseg_batch *batch, unsigned i)
{
    VALUE key = key_string(batch, i);
    VALUE entry = rb_ary_new_capa(5);

    rb_ary_push(entry, key);
    rb_ary_push(entry, UINT2NUM(batch->entries[i].value_bytes));
    rb_ary_push(entry, UINT2NUM(batch->entries[i].allocated_bytes));
    rb_ary_push(entry, batch->entries[i].log == TSEG_MAIN ? ID2SYM(rb_intern("main")) : ID2SYM(rb_intern("small")));
    rb_ary_push(entry, UINT2NUM(batch->entries[i].hits));
    return entry;
}

typedef struct {
    VALUE self, prefix, found;
    tseg_walker walker;
    long limit, buckets;
    bool described;
} walk_call;

static void collect(walk_call *call)
{
    const tseg_walker *walker = &call->walker;

    for (const tseg_batch *batch = walker->batches; batch < walker->batches + walker->count; batch++)
        for (unsigned i = 0; i < batch->count; i++)
            rb_ary_push(call->found, call->described ? describe(batch, i) : key_string(batch, i));
}

static VALUE walk(VALUE argument)
{
    walk_call *call = (walk_call *)argument;
    segment_host host = segment_host_of(call->self);

    tseg_walk_begin(&call->walker);
    while (!call->walker.at_end && RARRAY_LEN(call->found) < call->limit) {
        tseg_walk_on(&host.base, &call->walker);
        segment_raise(&host);
        if (call->walker.result == TSEG_NO_MEMORY) rb_memerror();
        collect(call);
    }
    return Qnil;
}

static VALUE walk_used(VALUE argument)
{
    walk_call *call = (walk_call *)argument;
    bool more;

    do {
        more = tseg_walk_used(segment_current(call->self), &call->walker, &call->limit, &call->buckets);
        collect(call);
    } while (more);
    return Qnil;
}

static VALUE free_walker(VALUE argument)
{
    tseg_walk_free(&((walk_call *)argument)->walker);
    return Qnil;
}

static VALUE walk_from(walk_call *call, VALUE cursor, VALUE (*walk_on)(VALUE))
{
    tseg_cursor *at = &call->walker.cursor;

    call->found = rb_ary_new();
    if (call->prefix) call->walker.prefix = RSTRING_PTR(call->prefix);
    if (call->prefix) call->walker.prefix_bytes = (uint32_t)RSTRING_LEN(call->prefix);
    call->walker.now = segment_now();
    if (!NIL_P(cursor)) {
        Check_Type(cursor, T_STRING);
        if (RSTRING_LEN(cursor) != sizeof *at)
            rb_raise(rb_eArgError, "cursor: expected a String that this method returned");
        memcpy(at, RSTRING_PTR(cursor), sizeof *at);
    }
    rb_ensure(walk_on, (VALUE)call, free_walker, (VALUE)call);
    RB_GC_GUARD(call->prefix);
    return rb_assoc_new(call->walker.at_end ? Qnil : rb_str_new((const char *)at, sizeof *at), call->found);
}

/*
 * @private Segment#walk(cursor or nil, prefix, limit, described) -> [next cursor or nil, keys]; with `described` [next
 * cursor or nil, [[key, value bytes, allocated bytes, :small or :main, hits], ...]]. The cursor is nil at the end.
 */
static VALUE segment_walk(VALUE self, VALUE cursor, VALUE prefix, VALUE limit, VALUE described)
{
    walk_call call = {.self = self, .prefix = rb_str_new_frozen(rb_String(prefix)), .limit = NUM2LONG(limit),
                      .described = RTEST(described)};

    return walk_from(&call, cursor, walk);
}

/*
 * Segment#used_keys(cursor or nil, entries, buckets) -> [next cursor or nil, keys]. Reads about `entries` entries from
 * at most `buckets` buckets, and returns the keys of those that had a hit since they were written or last moved.
 */
static VALUE segment_used_keys(VALUE self, VALUE cursor, VALUE entries, VALUE buckets)
{
    walk_call call = {.self = self, .limit = NUM2LONG(entries), .buckets = NUM2LONG(buckets)};

    return walk_from(&call, cursor, walk_used);
}

void segment_init_stats(void)
{
    rb_define_method(tiercel_segment_class, "stats", segment_stats, 0);
    rb_define_method(tiercel_segment_class, "counters", segment_counters, 0);
    rb_define_private_method(tiercel_segment_class, "walk", segment_walk, 4);
    rb_define_method(tiercel_segment_class, "used_keys", segment_used_keys, 3);
}
