/* Deletes, and what empties a segment: no lock of a shard is waited for. */
#include "binding.h"
#include "internal.h"

/* For so long a clear resets logs before other threads have their turn. */
#define RESET_TURN_NS UINT64_C(5000000)

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

static void sweep_on(void *argument, const atomic_bool *stop)
{
    segment_sweep *sweep = argument;

    while (sweep->shard < sweep->segment->geometry.shards && !atomic_load(stop)) {
        sweep->result = sweep->visit(sweep);
        if (sweep->result != TSEG_OK) return;
        sweep->shard++;
    }
}

bool segment_sweep_all(VALUE self, segment_sweep *sweep)
{
    tseg_wait wait = {0};
    uint64_t file_id;

    sweep->segment = segment_current(self);
    file_id = sweep->segment->file_id;
    while (sweep->shard < sweep->segment->geometry.shards) {
        bool would_wait = sweep->result == TSEG_WOULD_WAIT;
        sweep->result = TSEG_OK;
        if (would_wait) segment_wait_for_mover(sweep->segment, sweep->shard, &wait);
        else segment_run(sweep->segment, sweep_on, sweep);
        sweep->segment = segment_current(self); /* other threads ran */
        if (sweep->segment->file_id != file_id) return false;
    }
    return true;
}

void segment_wait_for_mover(tseg *segment, uint32_t shard, tseg_wait *wait)
{
    if (!segment_wait(segment, shard, wait)) *wait = (tseg_wait){0};
}

typedef struct {
    segment_sweep base;
    uint32_t epoch;
    bool emptied[TSEG_MAX_SHARDS];
} clear_sweep;

static tseg_result empty_shard(segment_sweep *sweep)
{
    clear_sweep *clear = (clear_sweep *)sweep;
    clear->emptied[sweep->shard] = tseg_empty_shard(sweep->segment, sweep->shard, clear->epoch);
    return TSEG_OK;
}

/*
 * Segment#clear. Once the epoch is raised every entry is a miss. The logs are reset under the GVL, since that takes the
 * lock of a shard: only threads that have the GVL hold one.
 */
VALUE segment_clear(VALUE self)
{
    tseg *segment = segment_current(self);
    clear_sweep clear = {.base = {.visit = empty_shard}, .epoch = tseg_raise_epoch(segment)};
    uint64_t file_id = segment->file_id, until_ns;

    if (!segment_sweep_all(self, &clear.base)) return segment_clear(self); /* moved meanwhile */
    until_ns = tseg_monotonic_ns() + RESET_TURN_NS;
    for (uint32_t shard = 0; shard < clear.base.shard; shard++) {
        segment = segment_current(self);
        if (segment->file_id != file_id) return segment_clear(self);
        if (clear.emptied[shard]) tseg_reset_shard(segment, shard);
        if (tseg_monotonic_ns() < until_ns) continue;
        rb_thread_schedule(); /* handles interrupts too */
        until_ns = tseg_monotonic_ns() + RESET_TURN_NS;
    }
    return Qnil;
}

typedef struct {
    segment_sweep base;
    const char *prefix;
    uint32_t count;
    uint64_t cleared;
} prefix_sweep;

static tseg_result clear_prefix(segment_sweep *sweep)
{
    prefix_sweep *clear = (prefix_sweep *)sweep;
    return tseg_clear_prefix(sweep->segment, sweep->shard, clear->prefix, clear->count, &clear->cleared);
}

/* Segment#clear_prefix(prefix) -> how many were removed */
static VALUE segment_clear_prefix(VALUE self, VALUE prefix)
{
    prefix_sweep clear = {.base = {.visit = clear_prefix}};

    prefix = rb_str_new_frozen(rb_String(prefix));
    clear.prefix = RSTRING_PTR(prefix);
    clear.count = (uint32_t)RSTRING_LEN(prefix);
    while (!segment_sweep_all(self, &clear.base)) clear.base.shard = 0; /* moved meanwhile */
    RB_GC_GUARD(prefix);
    return ULL2NUM(clear.cleared);
}

void segment_init_sweep(void)
{
    rb_define_method(tiercel_segment_class, "delete", segment_delete, 1);
    rb_define_method(tiercel_segment_class, "delete_multi", segment_delete_multi, 1);
    rb_define_method(tiercel_segment_class, "clear", segment_clear, 0);
    rb_define_method(tiercel_segment_class, "clear_prefix", segment_clear_prefix, 1);
}
