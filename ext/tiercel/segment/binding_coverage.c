/*
 * Coverage of a near tier: listeners report the changes of the last tier, and reads check whether the copies are valid.
 */
#include "binding.h"

__attribute__((noinline)) tseg *segment_distrusted(tseg *segment)
{
    tseg_bump(&segment->self->counters[TSEG_COUNT_MISSES]);
    return NULL;
}

/* Segment#near_clear: deletes all copies; a fill whose epoch is older stores nothing */
static VALUE segment_near_clear(VALUE self)
{
    segment_host host = segment_host_of(self);

    tseg_near_clear(&host.base);
    segment_raise(&host);
    return Qnil;
}

/*
 * Segment#near_cover(since, sent, server) -> true, false or nil; see tseg_cover_or_clear. Times are nanoseconds of the
 * monotonic clock. true: the copies are valid. false: the time before `since` was not covered, or was covered by
 * another server's listener, so all copies were deleted. nil: the report says nothing about this file.
 */
static VALUE segment_near_cover(VALUE self, VALUE since, VALUE sent, VALUE server)
{
    uint64_t since_ns = NUM2ULL(since), sent_ns = NUM2ULL(sent), server_id = NUM2ULL(server);
    segment_host host = segment_host_of(self);
    tseg_result result;

    segment_current(self);
    /* A listener knows nothing of the time before this process attached the segment. Server 0 is a file, which does. */
    result = tseg_cover_or_clear(&host.base, since_ns, sent_ns, server_id,
                                 server_id ? segment_handle_of(self)->attached_ns : 0);
    segment_raise(&host);
    return result == TSEG_OK ? Qtrue : result == TSEG_CHANGED ? Qfalse : Qnil;
}

/* Segment#near_covered -> nanoseconds of the monotonic clock; 0 if the copies were never covered */
static VALUE segment_near_covered(VALUE self) { return ULL2NUM(tseg_covered_ns(segment_current(self))); }

/* Segment#near_server -> the number of the server whose listener covered the copies last; 0 for none */
static VALUE segment_near_server(VALUE self)
{
    return ULL2NUM(atomic_load_explicit(&segment_current(self)->header->near_server, memory_order_seq_cst));
}

/*
 * Segment#near_listen(busy) -> whether this process is one of the machine's two listeners for the next second. A busy
 * listener gives its seat to a process that is not busy.
 */
static VALUE segment_near_listen(VALUE self, VALUE busy)
{
    return tseg_take_seat(segment_current(self), RTEST(busy)) ? Qtrue : Qfalse;
}

/* Segment#near_gaps -> how often all copies were deleted because no listener had covered them */
static VALUE segment_near_gaps(VALUE self)
{
    return ULL2NUM(atomic_load_explicit(&segment_current(self)->header->near_gaps, memory_order_seq_cst));
}

/* Segment#near_noted -> a number that changes with each near_note, and once a second */
static VALUE segment_near_noted(VALUE self)
{
    const tseg *segment = segment_current(self);
    return ULL2NUM(tseg_noted(segment, segment_handle_of(self)->checked_at));
}

/*
 * Segment#near_note -> nil. Tells all processes that the journal has a new note of a change that the last tier has not
 * received.
 */
static VALUE segment_near_note(VALUE self)
{
    tseg_note(segment_current(self));
    return Qnil;
}

/*
 * Segment#near_trust = seconds: this Segment reads and fills copies for this long after the covered time. nil, the
 * default: always.
 */
static VALUE segment_set_near_trust(VALUE self, VALUE seconds)
{
    double trust = NIL_P(seconds) ? 0 : NUM2DBL(seconds);

    if (!NIL_P(seconds) && !(trust > 0 && trust <= 1e9))
        rb_raise(rb_eArgError, "near_trust: expected seconds > 0 or nil, got %" PRIsVALUE, seconds);
    segment_handle_of(self)->near_trust_ns = (uint64_t)(trust * 1e9);
    segment_handle_of(self)->near_unless_covered = false;
    return seconds;
}

/*
 * Segment#near_trust_recorded = seconds: as near_trust=, but while no process of the machine covers the copies, this
 * Segment reads them until they expire.
 */
static VALUE segment_set_near_trust_recorded(VALUE self, VALUE seconds)
{
    segment_set_near_trust(self, seconds);
    segment_handle_of(self)->near_unless_covered = true;
    return seconds;
}

/*
 * Segment#near_uncover(covered) -> nil. The process that covered the copies until `covered` has stopped: deletes all
 * copies and marks the segment as not covered, unless another process has taken over.
 */
static VALUE segment_near_uncover(VALUE self, VALUE covered)
{
    segment_host host = segment_host_of(self);

    tseg_uncover(&host.base, NUM2ULL(covered));
    segment_raise(&host);
    return Qnil;
}

/* Segment#near_trusted? */
static VALUE segment_near_trusted(VALUE self) { return segment_to_read(self) ? Qtrue : Qfalse; }

void segment_init_coverage(void)
{
    rb_define_method(tiercel_segment_class, "near_clear", segment_near_clear, 0);
    rb_define_method(tiercel_segment_class, "near_cover", segment_near_cover, 3);
    rb_define_method(tiercel_segment_class, "near_covered", segment_near_covered, 0);
    rb_define_method(tiercel_segment_class, "near_gaps", segment_near_gaps, 0);
    rb_define_method(tiercel_segment_class, "near_listen", segment_near_listen, 1);
    rb_define_method(tiercel_segment_class, "near_note", segment_near_note, 0);
    rb_define_method(tiercel_segment_class, "near_noted", segment_near_noted, 0);
    rb_define_method(tiercel_segment_class, "near_server", segment_near_server, 0);
    rb_define_method(tiercel_segment_class, "near_trust=", segment_set_near_trust, 1);
    rb_define_method(tiercel_segment_class, "near_trust_recorded=", segment_set_near_trust_recorded, 1);
    rb_define_method(tiercel_segment_class, "near_uncover", segment_near_uncover, 1);
    rb_define_method(tiercel_segment_class, "near_trusted?", segment_near_trusted, 0);
}
