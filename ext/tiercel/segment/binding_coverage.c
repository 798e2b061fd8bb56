/* Listeners of a farther tier tell a segment of changes; reads ask whether its copies are trusted. */
#include "binding.h"
#include "coverage.h"

bool segment_is_trusted(VALUE self, const tseg *segment)
{
    const segment_handle *handle = RTYPEDDATA_DATA(self);
    return tseg_is_trusted(segment, handle->near_trust_ns) ||
           (handle->near_unless_covered && !tseg_covered_ns(segment));
}

__attribute__((noinline)) tseg *segment_distrusted(tseg *segment)
{
    tseg_bump(&segment->self->counters[TSEG_COUNT_MISSES]);
    return NULL;
}

/* Puts all copies away. NULL: they were in another file. */
static tseg *put_away(VALUE self, tseg *segment)
{
    uint64_t file_id = segment->file_id;

    tseg_begin_gap(segment);
    segment_clear(self);
    segment = segment_current(self);
    return segment->file_id == file_id ? segment : NULL;
}

/* Segment#near_clear: all copies go, and no fill whose epoch was taken before comes after it */
static VALUE segment_near_clear(VALUE self)
{
    while (!put_away(self, segment_current(self))) {}
    return Qnil;
}

/*
 * Segment#near_cover(since, sent, server) -> true, false or nil. Nanoseconds of the monotonic clock: a listener
 * of that server heard of every change behind from `since`, when it began, until `sent`, and all of them were put away
 * through this Segment. true: the copies are good. false: nobody covered the time before `since`, or another server's
 * listener did; all copies were put away. nil: it says nothing, since `sent` is before the listener, or this Segment's
 * move to another file
 */
static VALUE segment_near_cover(VALUE self, VALUE since, VALUE sent, VALUE server)
{
    uint64_t since_ns = NUM2ULL(since), sent_ns = NUM2ULL(sent), now_ns = tseg_monotonic_ns();
    uint64_t server_id = NUM2ULL(server);
    tseg *segment = segment_current(self);
    const segment_handle *handle = segment_handle_of(self);

    if (sent_ns > now_ns) sent_ns = now_ns;
    if (since_ns < handle->attached_ns) since_ns = handle->attached_ns;
    if (sent_ns < since_ns) return Qnil;
    if (tseg_cover(segment, since_ns, sent_ns, server_id)) return Qtrue;
    tseg_find_gap(segment, server_id);
    segment = put_away(self, segment);
    if (!segment) return Qnil;
    tseg_end_gap(segment, sent_ns);
    return Qfalse;
}

/* Segment#near_covered -> nanoseconds of the monotonic clock, 0 for never */
static VALUE segment_near_covered(VALUE self) { return ULL2NUM(tseg_covered_ns(segment_current(self))); }

/* Segment#near_server -> which server's listeners covered it last, a number; 0 for none */
static VALUE segment_near_server(VALUE self)
{
    return ULL2NUM(atomic_load_explicit(&segment_current(self)->header->near_server, memory_order_seq_cst));
}

/*
 * Segment#near_listen(busy) -> whether this process is one of the two of its machine that listen, for a second from
 * now. One that says it is busy gives its place to one that is not
 */
static VALUE segment_near_listen(VALUE self, VALUE busy)
{
    return tseg_take_seat(segment_current(self), RTEST(busy)) ? Qtrue : Qfalse;
}

/* Segment#near_gaps -> how often copies were put away since nobody had covered them */
static VALUE segment_near_gaps(VALUE self)
{
    return ULL2NUM(atomic_load_explicit(&segment_current(self)->header->near_gaps, memory_order_seq_cst));
}

/*
 * Segment#near_noted -> a number that is another one once anybody has noted (near_note) what the tier behind was not
 * told, and in any case once a second: when this Segment looks what its path leads to
 */
static VALUE segment_near_noted(VALUE self)
{
    uint64_t noted = tseg_load_acquire(&segment_current(self)->header->near_noted);
    uint64_t second = (uint64_t)segment_handle_of(self)->checked_at;
    return ULL2NUM((noted << 24 | (second & 0xffffff)) & (FIXNUM_MAX >> 1));
}

/* Segment#near_note -> nil. After something was noted, for all processes */
static VALUE segment_near_note(VALUE self)
{
    atomic_fetch_add_explicit(&segment_current(self)->header->near_noted, 1, memory_order_seq_cst);
    return Qnil;
}

/*
 * Segment#near_trust = seconds: through this Segment copies are read, and filled, for so long after the time until
 * which they are covered. nil, as at first: always
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
 * Segment#near_trust_recorded = seconds: as near_trust=, but as long as no process of the machine covers the copies,
 * they are read until they expire
 */
static VALUE segment_set_near_trust_recorded(VALUE self, VALUE seconds)
{
    segment_set_near_trust(self, seconds);
    segment_handle_of(self)->near_unless_covered = true;
    return seconds;
}

/*
 * Segment#near_uncover(covered) -> nil. The process that covered the copies until then has ended: all copies go, and
 * the segment is one that nobody covers. Not if a process covers it again
 */
static VALUE segment_near_uncover(VALUE self, VALUE covered)
{
    uint64_t covered_ns = NUM2ULL(covered);
    tseg *segment = put_away(self, segment_current(self));

    if (segment) tseg_swap(&segment->header->near_covered, &covered_ns, 0);
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
