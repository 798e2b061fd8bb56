/* Deletes, walks and figures: what takes no lock. */
#include <stdlib.h>

#include "binding.h"

/* A segment that was retired in the middle of a delete was left by others already: delete in the new one too. */
bool segment_delete_key(VALUE self, VALUE key_string,
                        tseg_result (*delete)(tseg *, const tseg_key *, double *))
{
    double expires_at, last_end = -INFINITY;
    tseg *segment;

    do {
        tseg_key key;
        segment = segment_current(self);
        segment_key(segment, &key, key_string);
        if (delete(segment, &key, &expires_at) == TSEG_OK && expires_at > last_end) last_end = expires_at;
    } while (RB_UNLIKELY(tseg_is_retired(segment)));
    RB_GC_GUARD(key_string);
    if (last_end == INFINITY || last_end == -INFINITY) return last_end > 0;
    return last_end > segment_now();
}

/* Segment#delete(key) -> whether there was something */
static VALUE segment_delete(VALUE self, VALUE key)
{
    return segment_delete_key(self, key, tseg_delete) ? Qtrue : Qfalse;
}

/* Segment#delete_multi(keys) -> how many were there */
static VALUE segment_delete_multi(VALUE self, VALUE keys)
{
    long count = 0;

    Check_Type(keys, T_ARRAY);
    for (long i = 0; i < RARRAY_LEN(keys); i++) count += segment_delete_key(self, RARRAY_AREF(keys, i), tseg_delete);
    return LONG2NUM(count);
}

static VALUE check_interrupts(VALUE self)
{
    rb_thread_check_ints();
    return self;
}

/* Segment#clear */
VALUE segment_clear(VALUE self)
{
    tseg *segment = segment_current(self);
    uint64_t file_id = segment->file_id;
    uint32_t epoch = tseg_raise_epoch(segment);

    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++) {
        tseg_clear_shard(segment, shard, epoch);
        check_interrupts(self);
        segment = segment_current(self);
        if (segment->file_id != file_id) return segment_clear(self); /* moved meanwhile */
    }
    return Qnil;
}

/* A writer who does not move for the whole bound counts as stuck; then the next try empties the slot. */
static void wait_for_mover(tseg *segment, uint32_t shard, tseg_wait *wait)
{
    if (!segment_wait(segment, shard, wait)) *wait = (tseg_wait){0};
}

/* Segment#clear_prefix(prefix) -> how many were removed */
static VALUE segment_clear_prefix(VALUE self, VALUE prefix)
{
    uint64_t file_id = 0, cleared = 0;
    tseg_wait wait = {0};
    uint32_t shard = 0;

    prefix = rb_str_new_frozen(rb_String(prefix));
    for (;;) {
        tseg *segment = segment_current(self);
        tseg_result result;
        if (segment->file_id != file_id) shard = 0; /* moved meanwhile */
        file_id = segment->file_id;
        if (shard >= segment->geometry.shards) break;
        result = tseg_clear_prefix(segment, shard, RSTRING_PTR(prefix), (uint32_t)RSTRING_LEN(prefix), &cleared);
        if (result == TSEG_OK) shard++;
        else wait_for_mover(segment, shard, &wait);
        check_interrupts(self);
    }
    RB_GC_GUARD(prefix);
    return ULL2NUM(cleared);
}

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
    tseg_cursor cursor;
    long limit, buckets;
    double now;
    bool described, more;
    tseg_batch batch;
} walk_call;

static VALUE walk(VALUE argument)
{
    walk_call *call = (walk_call *)argument;

    tseg_wait wait = {0};

    while (call->more && RARRAY_LEN(call->found) < call->limit) {
        tseg *segment = segment_current(call->self);
        tseg_result result = tseg_walk(segment, &call->cursor, RSTRING_PTR(call->prefix),
                                       (uint32_t)RSTRING_LEN(call->prefix), call->now, &call->batch);
        call->more = result != TSEG_ABSENT;
        if (result == TSEG_WOULD_WAIT) wait_for_mover(segment, call->cursor.shard, &wait);
        for (unsigned i = 0; result == TSEG_OK && i < call->batch.count; i++) {
            rb_ary_push(call->found, call->described ? describe(&call->batch, i) : key_string(&call->batch, i));
        }
    }
    return Qnil;
}

/* As many buckets as have `limit` entries, but no more than `buckets`; fewer where a writer is at work in one. */
static VALUE walk_used(VALUE argument)
{
    walk_call *call = (walk_call *)argument;

    for (long seen = 0; call->more && seen < call->limit && call->buckets > 0; call->buckets--) {
        tseg_result result = tseg_walk(segment_current(call->self), &call->cursor, NULL, 0, call->now, &call->batch);
        call->more = result != TSEG_ABSENT;
        if (result == TSEG_WOULD_WAIT) break;
        seen += call->batch.count;
        for (unsigned i = 0; i < call->batch.count; i++)
            if (call->batch.entries[i].hits) rb_ary_push(call->found, key_string(&call->batch, i));
    }
    return Qnil;
}

static VALUE free_batch(VALUE argument)
{
    free(((walk_call *)argument)->batch.bytes);
    return Qnil;
}

static VALUE walk_from(walk_call *call, VALUE cursor, VALUE (*walk_on)(VALUE))
{
    call->found = rb_ary_new();
    call->now = segment_now();
    call->more = true;
    if (!NIL_P(cursor)) {
        Check_Type(cursor, T_STRING);
        if (RSTRING_LEN(cursor) != sizeof call->cursor) rb_raise(rb_eArgError, "not a cursor");
        memcpy(&call->cursor, RSTRING_PTR(cursor), sizeof call->cursor);
    }
    rb_ensure(walk_on, (VALUE)call, free_batch, (VALUE)call);
    RB_GC_GUARD(call->prefix);
    return rb_assoc_new(call->more ? rb_str_new((const char *)&call->cursor, sizeof call->cursor) : Qnil, call->found);
}

/*
 * @private Segment#walk(cursor or nil, prefix, limit, described) -> [next cursor or nil, keys], or where described
 * [next cursor or nil, [[key, value bytes, allocated bytes, :small or :main, hits], ...]]
 */
static VALUE segment_walk(VALUE self, VALUE cursor, VALUE prefix, VALUE limit, VALUE described)
{
    walk_call call = {.self = self, .prefix = rb_str_new_frozen(rb_String(prefix)), .limit = NUM2LONG(limit),
                      .described = RTEST(described)};

    return walk_from(&call, cursor, walk);
}

/*
 * Segment#used_keys(cursor or nil, entries, buckets) -> [next cursor or nil, keys]: looks at about so many entries, in
 * no more than so many buckets of the index; the keys are of those with a hit since they were written or last moved
 */
static VALUE segment_used_keys(VALUE self, VALUE cursor, VALUE entries, VALUE buckets)
{
    walk_call call = {.self = self, .limit = NUM2LONG(entries), .buckets = NUM2LONG(buckets)};

    return walk_from(&call, cursor, walk_used);
}

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

/* Of this process. */
static void put_memo(VALUE hash, const tseg_memo *memo)
{
    put(hash, "memo_entries", memo->failed ? 0 : memo->count); /* in a trial there are no values */
    put(hash, "memo_bytes", memo->failed ? tseg_memo_memory(memo) : memo->bytes);
    put(hash, "memo_hits", memo->hits);
    put(hash, "memo_evictions", memo->evictions);
    put(hash, "memo_pauses", memo->pauses);
}

/* Segment#stats -> Hash */
static VALUE segment_stats(VALUE self)
{
    double now = segment_now();
    tseg *segment = segment_current(self);
    VALUE hash = rb_hash_new();
    tseg_stats stats;

    tseg_collect_stats(segment, now, &stats);
    put(hash, "entries", stats.entries);
    put(hash, "bytes", stats.live_bytes);
    put(hash, "payload_bytes", stats.payload_bytes);
    put(hash, "dead_bytes", stats.used_bytes > stats.live_bytes ? stats.used_bytes - stats.live_bytes : 0);
    put(hash, "log_bytes", stats.log_bytes);
    put(hash, "size_bytes", segment->geometry.file_bytes);
    put(hash, "shards", segment->geometry.shards);
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

void segment_init_sweep(void)
{
    rb_define_method(tiercel_segment_class, "delete", segment_delete, 1);
    rb_define_method(tiercel_segment_class, "delete_multi", segment_delete_multi, 1);
    rb_define_method(tiercel_segment_class, "clear", segment_clear, 0);
    rb_define_method(tiercel_segment_class, "clear_prefix", segment_clear_prefix, 1);
    rb_define_private_method(tiercel_segment_class, "walk", segment_walk, 4);
    rb_define_method(tiercel_segment_class, "used_keys", segment_used_keys, 3);
    rb_define_method(tiercel_segment_class, "stats", segment_stats, 0);
}
