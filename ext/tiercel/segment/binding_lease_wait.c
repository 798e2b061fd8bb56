/* Leases: what has become of somebody else's, and waiting for it. Tiercel::Leases::Segment calls them. */
#include "binding_lease.h"
#include "internal.h"

/* A dead holder is noticed within this, since nothing wakes anybody when a process dies. */
#define LEASE_LOOK_NS UINT64_C(25000000)

static VALUE state_symbol(tseg_lease_state state)
{
    switch (state) {
    case TSEG_LEASE_STANDS: return ID2SYM(rb_intern("held"));
    case TSEG_LEASE_LAPSED: return ID2SYM(rb_intern("lapsed"));
    case TSEG_LEASE_GIVEN_BACK: return ID2SYM(rb_intern("released"));
    default: return ID2SYM(rb_intern("gone"));
    }
}

/* @private Segment#lease_state(key, lineage, holder) -> :held, :lapsed, :released, or :gone (filled, deleted) */
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

typedef struct {
    tseg *segment;
    tseg_half *signal;
    uint32_t seen;
    uint64_t longest_ns;
} sleeping;

static void *sleep_on_signal(void *argument)
{
    sleeping *what = argument;
    tseg_sleep(what->signal, what->seen, what->longest_ns);
    return NULL;
}

static VALUE sleep_without_gvl(VALUE argument)
{
    rb_thread_call_without_gvl(sleep_on_signal, (void *)argument, RUBY_UBF_IO, NULL);
    return Qnil;
}

static VALUE stop_sleeping(VALUE argument)
{
    tseg_let_go(((sleeping *)argument)->segment);
    return Qnil;
}

static uint64_t least(uint64_t one, uint64_t other) { return one < other ? one : other; }

/* Until the next change, the lease's end, the caller's, or the next look at whether the holder is alive. */
static void sleep_on_lease(tseg *segment, const tseg_lease *lease, uint64_t now_ns, uint64_t deadline_ns)
{
    sleeping what = {segment, lease->signal, lease->signal_seen, LEASE_LOOK_NS};

    what.longest_ns = least(what.longest_ns, deadline_ns - now_ns);
    if (lease->lapses_ns > now_ns) what.longest_ns = least(what.longest_ns, lease->lapses_ns - now_ns + 1);
    tseg_hold(segment); /* its last handle may be closed meanwhile */
    rb_ensure(sleep_without_gvl, (VALUE)&what, stop_sleeping, (VALUE)&what);
}

/*
 * @private Segment#lease_wait(key, lineage, holder, seconds) -> as #lease_state; :held once the seconds are over.
 * Sleeps without the GVL; interrupts raise.
 */
static VALUE segment_lease_wait(VALUE self, VALUE key_string, VALUE lineage, VALUE holder, VALUE seconds)
{
    uint64_t lineage_name = segment_lease_name(lineage), holder_name = segment_lease_name(holder);
    uint64_t deadline_ns = tseg_monotonic_ns() + segment_lease_ns(seconds), file_id = 0;

    key_string = rb_str_new_frozen(StringValue(key_string));
    for (;;) {
        tseg *segment = segment_current(self);
        uint64_t now_ns = tseg_monotonic_ns();
        tseg_lease_state state;
        tseg_lease lease;
        tseg_key key;
        segment_key(segment, &key, key_string);
        tseg_keep_registered(segment);
        if (!file_id) tseg_bump(&segment->self->counters[TSEG_COUNT_LEASE_WAITS]);
        if (file_id && file_id != segment->file_id) return state_symbol(TSEG_LEASE_GONE); /* moved meanwhile */
        file_id = segment->file_id;
        state = tseg_lease_look(segment, &key, lineage_name, holder_name, true, &lease);
        if (state != TSEG_LEASE_STANDS || now_ns >= deadline_ns) return state_symbol(state);
        sleep_on_lease(segment, &lease, now_ns, deadline_ns);
    }
}

void segment_init_lease_wait(void)
{
    rb_define_method(tiercel_segment_class, "lease_state", segment_lease_state, 3);
    rb_define_method(tiercel_segment_class, "lease_wait", segment_lease_wait, 4);
}
