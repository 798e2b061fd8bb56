/* Deletes and clears. They wait for no lock of a shard. */
#include "binding.h"

typedef struct {
    segment_call base;
    tseg_delete_function *delete;
    double latest_end;
} delete_call;

static tseg_result attempt_delete(tseg_call *base, tseg *segment)
{
    delete_call *call = (delete_call *)base;
    tseg_key key;

    segment_key(segment, &key, call->base.key);
    return tseg_delete_once(segment, &key, call->delete, &call->latest_end);
}

bool segment_delete_key(VALUE self, VALUE key, tseg_delete_function *delete)
{
    delete_call call = {{.base.attempt = attempt_delete, .key = key}, delete, -INFINITY};

    segment_make_call(self, &call.base);
    if (isinf(call.latest_end)) return call.latest_end > 0;
    return call.latest_end > segment_now();
}

/* Segment#delete(key) -> whether there was a live entry */
static VALUE segment_delete(VALUE self, VALUE key)
{
    return segment_delete_key(self, key, tseg_delete) ? Qtrue : Qfalse;
}

/* Segment#delete_multi(keys) -> the number of live entries */
static VALUE segment_delete_multi(VALUE self, VALUE keys)
{
    long count = 0;

    Check_Type(keys, T_ARRAY);
    for (long i = 0; i < RARRAY_LEN(keys); i++) count += segment_delete_key(self, RARRAY_AREF(keys, i), tseg_delete);
    return LONG2NUM(count);
}

/* Segment#clear */
static VALUE segment_clear(VALUE self)
{
    segment_host host = segment_host_of(self);

    tseg_clear(&host.base);
    segment_raise(&host);
    return Qnil;
}

/* Segment#clear_prefix(prefix) -> the number of deleted entries */
static VALUE segment_clear_prefix(VALUE self, VALUE prefix)
{
    segment_host host = segment_host_of(self);
    uint64_t cleared;

    prefix = rb_str_new_frozen(rb_String(prefix));
    cleared = tseg_clear_keys(&host.base, RSTRING_PTR(prefix), (uint32_t)RSTRING_LEN(prefix));
    RB_GC_GUARD(prefix);
    segment_raise(&host);
    return ULL2NUM(cleared);
}

void segment_init_delete(void)
{
    rb_define_method(tiercel_segment_class, "delete", segment_delete, 1);
    rb_define_method(tiercel_segment_class, "delete_multi", segment_delete_multi, 1);
    rb_define_method(tiercel_segment_class, "clear", segment_clear, 0);
    rb_define_method(tiercel_segment_class, "clear_prefix", segment_clear_prefix, 1);
}
