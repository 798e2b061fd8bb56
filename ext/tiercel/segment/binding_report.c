#include "binding.h"

/* The figures of a segment as Arrays of numbers. Tiercel::Segment names them. */
static VALUE numbers(const uint64_t *figures, long count)
{
    VALUE array = rb_ary_new_capa(count);

    for (long i = 0; i < count; i++) rb_ary_push(array, ULL2NUM(figures[i]));
    return array;
}

/* @private Segment#content_figures: see CONTENT in segment.rb */
static VALUE segment_content_figures(VALUE self)
{
    tseg *segment = segment_current(self);
    const tseg_memo *memo = &segment_handle_of(self)->memo;
    tseg_stats stats;

    tseg_collect_stats(segment, &stats);
    const uint64_t figures[] = {
        stats.entries, stats.live_bytes, stats.used_bytes > stats.live_bytes ? stats.used_bytes - stats.live_bytes : 0,
        stats.log_bytes, segment->geometry.file_bytes, segment->geometry.shards, stats.processes, stats.leases,
        memo->count, memo->bytes, memo->limit_bytes, memo->hits, memo->evictions};
    return numbers(figures, sizeof figures / sizeof *figures);
}

/*
 * @private Segment#counter_figures -> the id of the file, and the counters of all processes, of this process and of the
 * shards. Reads no entry. nil for closed private memory. A child process reads the counters of private memory before
 * its first call, so this method registers no process with private memory.
 */
static VALUE segment_counter_figures(VALUE self)
{
    const tseg_handle *handle = segment_handle_of(self);
    tseg *segment = handle->path ? segment_current(self) : handle->attached;
    uint64_t here[TSEG_PROCESS_COUNTERS];
    tseg_stats stats = {0};

    if (!segment) return Qnil;
    tseg_collect_counters(segment, &stats);
    for (int i = 0; i < TSEG_PROCESS_COUNTERS; i++)
        here[i] = tseg_load(&segment->self->counters[i]) - segment->counted_before[i];
    return rb_ary_new_from_args(4, ULL2NUM(segment->file_id), numbers(stats.process, TSEG_PROCESS_COUNTERS),
                                numbers(here, TSEG_PROCESS_COUNTERS), numbers(stats.shard, TSEG_SHARD_COUNTERS));
}

/* Walks over the entries of a segment. */
typedef struct {
    VALUE self, found;
    tseg_walker walker;
    bool used;
} walk_call;

static VALUE walk(VALUE argument)
{
    walk_call *call = (walk_call *)argument;
    tseg_walker *walker = &call->walker;
    segment_host host = segment_host_of(call->self);

    tseg_walk_begin(walker);
    while (!walker->at_end && walker->entries_left > 0 && walker->buckets_left > 0) {
        tseg_walk_on(&host.base, walker);
        segment_raise(&host);
        if (walker->result == TSEG_NO_MEMORY) rb_memerror();
        for (const tseg_batch *batch = walker->batches; batch < walker->batches + walker->count; batch++)
            for (unsigned i = 0; i < batch->count; i++)
                if (batch->entries[i].hits || !call->used)
                    rb_ary_push(call->found, rb_enc_str_new((const char *)batch->bytes + batch->entries[i].key_offset,
                                                            batch->entries[i].key_bytes, rb_utf8_encoding()));
    }
    return Qnil;
}

static VALUE free_walker(VALUE argument)
{
    tseg_walk_free(&((walk_call *)argument)->walker);
    return Qnil;
}

/*
 * @private Segment#walk(cursor or nil, prefix, entries, buckets, used) -> [next cursor or nil, keys]. used: only keys
 * that had a hit since they were written or last moved. Stops after about `entries` entries, and after `buckets`
 * buckets of the index. The cursor is nil at the end.
 */
static VALUE segment_walk(VALUE self, VALUE cursor, VALUE prefix, VALUE entries, VALUE buckets, VALUE used)
{
    walk_call call = {self, rb_ary_new(), {.entries_left = NUM2LONG(entries), .buckets_left = NUM2LONG(buckets)},
                      RTEST(used)};
    tseg_cursor *at = &call.walker.cursor;

    prefix = rb_str_new_frozen(rb_String(prefix));
    call.walker.prefix = RSTRING_PTR(prefix);
    call.walker.prefix_bytes = (uint32_t)RSTRING_LEN(prefix);
    call.walker.now = segment_now();
    if (!NIL_P(cursor)) {
        Check_Type(cursor, T_STRING);
        if (RSTRING_LEN(cursor) != sizeof *at)
            rb_raise(rb_eArgError, "cursor: expected a String that this method returned");
        memcpy(at, RSTRING_PTR(cursor), sizeof *at);
    }
    rb_ensure(walk, (VALUE)&call, free_walker, (VALUE)&call);
    RB_GC_GUARD(prefix);
    return rb_assoc_new(call.walker.at_end ? Qnil : rb_str_new((const char *)at, sizeof *at), call.found);
}

void segment_init_stats(void)
{
    rb_define_private_method(tiercel_segment_class, "content_figures", segment_content_figures, 0);
    rb_define_private_method(tiercel_segment_class, "counter_figures", segment_counter_figures, 0);
    rb_define_private_method(tiercel_segment_class, "walk", segment_walk, 5);
}
