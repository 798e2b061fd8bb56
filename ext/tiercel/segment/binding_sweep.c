/* Deletes, and what empties a segment: no lock of a shard is waited for. */
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

static tseg *current_attachment(tseg_turns *turns) { return segment_current(((segment_turns *)turns)->self); }

static void run_without_gvl(tseg_turns *turns, tseg *segment, void (*work)(void *argument, const atomic_bool *stop),
                            void *argument)
{
    (void)turns;
    segment_run(segment, work, argument);
}

static bool wait_without_gvl_for(tseg_turns *turns, tseg *segment, uint32_t shard, tseg_wait *wait)
{
    (void)turns;
    return segment_wait(segment, shard, wait);
}

static void schedule(tseg_turns *turns)
{
    (void)turns;
    rb_thread_schedule(); /* handles interrupts too */
}

segment_turns segment_turns_of(VALUE self)
{
    return (segment_turns){{current_attachment, run_without_gvl, wait_without_gvl_for, schedule}, self};
}

/* Segment#clear. Once the epoch is raised every entry is a miss. */
VALUE segment_clear(VALUE self)
{
    segment_turns turns = segment_turns_of(self);

    tseg_clear(&turns.base);
    return Qnil;
}

/* Segment#clear_prefix(prefix) -> how many were removed */
static VALUE segment_clear_prefix(VALUE self, VALUE prefix)
{
    segment_turns turns = segment_turns_of(self);
    uint64_t cleared;

    prefix = rb_str_new_frozen(rb_String(prefix));
    cleared = tseg_clear_keys(&turns.base, RSTRING_PTR(prefix), (uint32_t)RSTRING_LEN(prefix));
    RB_GC_GUARD(prefix);
    return ULL2NUM(cleared);
}

void segment_init_sweep(void)
{
    rb_define_method(tiercel_segment_class, "delete", segment_delete, 1);
    rb_define_method(tiercel_segment_class, "delete_multi", segment_delete_multi, 1);
    rb_define_method(tiercel_segment_class, "clear", segment_clear, 0);
    rb_define_method(tiercel_segment_class, "clear_prefix", segment_clear_prefix, 1);
}
