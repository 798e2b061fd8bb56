/* The leases of other callers: their state, and waiting for their end. Tiercel::Leases::Segment calls these methods. */
#include "binding_lease.h"

static VALUE state_symbol(tseg_lease_state state)
{
    switch (state) {
    case TSEG_LEASE_STANDS: return ID2SYM(rb_intern("held"));
    case TSEG_LEASE_LAPSED: return ID2SYM(rb_intern("lapsed"));
    case TSEG_LEASE_GIVEN_BACK: return ID2SYM(rb_intern("released"));
    default: return ID2SYM(rb_intern("gone"));
    }
}

/* @private Segment#lease_state(key, lineage, holder) -> :held, :lapsed, :released, or :gone (filled or deleted) */
static VALUE segment_lease_state(VALUE self, VALUE key_string, VALUE lineage, VALUE holder)
{
    uint64_t lineage_name = segment_lease_name(lineage), holder_name = segment_lease_name(holder);
    tseg *segment = segment_current(self);
    tseg_lease lease;
    tseg_key key;

    segment_key(segment, &key, key_string);
    tseg_keep_registered(segment);
    return state_symbol(tseg_lease_look(segment, &key, lineage_name, holder_name, false, &lease));
}

/*
 * @private Segment#lease_wait(key, lineage, holder, seconds) -> as #lease_state; :held once the seconds are over.
 * Sleeps without the GVL.
 */
static VALUE segment_lease_wait(VALUE self, VALUE key, VALUE lineage, VALUE holder, VALUE seconds)
{
    segment_host host = segment_host_of(self);
    tseg_awaited_lease awaited = {.lineage = segment_lease_name(lineage), .holder = segment_lease_name(holder)};
    uint64_t longest_ns = segment_lease_ns(seconds);
    tseg_lease_state state = TSEG_LEASE_GONE;

    key = rb_str_new_frozen(StringValue(key));
    awaited.key = RSTRING_PTR(key);
    awaited.key_bytes = (uint32_t)RSTRING_LEN(key);
    tseg_lease_wait(&host.base, &awaited, longest_ns, &state);
    RB_GC_GUARD(key);
    segment_raise(&host);
    return state_symbol(state);
}

void segment_init_lease_wait(void)
{
    rb_define_method(tiercel_segment_class, "lease_state", segment_lease_state, 3);
    rb_define_method(tiercel_segment_class, "lease_wait", segment_lease_wait, 4);
}
