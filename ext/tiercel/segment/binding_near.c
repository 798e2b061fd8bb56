#include "binding.h"

/* A segment as a near tier, in front of the last tier. Ruby keeps a begun change (a tseg_begun) as a String. */
/* The Ruby number of an epoch differs for each file, so that an epoch of another file matches nothing. */
static VALUE epoch_number(const tseg *segment, uint64_t word) { return ULL2NUM(word ^ segment->file_id); }

/*
 * Segment#near_epoch(key, late = false) -> Integer for near_fill. The caller gets the epoch before it fetches the
 * value. Returns nil while a writer changes a key of the stripe. Also returns nil if this Segment does not trust its
 * copies, unless `late` is true.
 */
static VALUE segment_near_epoch(int count, VALUE *arguments, VALUE self)
{
    tseg *segment;
    uint64_t word;
    tseg_key key;

    rb_check_arity(count, 1, 2);
    segment = segment_current(self);
    segment_key(segment, &key, arguments[0]);
    word = tseg_near_epoch(segment, &key);
    if (!(count > 1 && RTEST(arguments[1])) && !segment_may_fill(self, segment)) return Qnil;
    return tseg_near_is_changing(word) ? Qnil : epoch_number(segment, word);
}

/* Segment#near_invalidate(key): deletes the key; a fill whose epoch is older stores nothing */
static VALUE segment_near_invalidate(VALUE self, VALUE key)
{
    return segment_delete_key(self, key, tseg_near_invalidate) ? Qtrue : Qfalse;
}

static void delete_keys(VALUE self, VALUE keys, tseg_delete_function *delete)
{
    if (NIL_P(keys)) return;
    for (long i = 0; i < RARRAY_LEN(keys); i++) segment_delete_key(self, RARRAY_AREF(keys, i), delete);
}

typedef struct {
    segment_call base;
    union {
        tseg_begun begun;
        char bytes[sizeof(tseg_begun) + TSEG_STRIPES * sizeof(tseg_begun_stripe)];
    } result;
} begin_call;

/* Begins a change in the stripe of each key, or in all stripes if any key or more keys than stripes may change. */
static tseg_result attempt_begin(tseg_call *base, tseg *segment)
{
    begin_call *call = (begin_call *)base;
    VALUE keys = call->base.keys;
    long count = keys ? RARRAY_LEN(keys) : TSEG_STRIPES + 1;
    uint32_t stripes[TSEG_STRIPES];

    for (long i = 0; i < count && count <= TSEG_STRIPES; i++) {
        tseg_key key;
        segment_key(segment, &key, RARRAY_AREF(keys, i));
        stripes[i] = tseg_near_stripe(segment, &key);
    }
    return tseg_near_begin_set(segment, count > TSEG_STRIPES ? NULL : stripes, (uint64_t)count, &call->result.begun);
}

/*
 * Segment#near_begin(keys) -> String for near_fill and near_end. A writer calls this method before the writer changes
 * the last tier. The call deletes the keys' copies, and until near_end no other caller can fill them. keys is nil if
 * any key may change; the caller then deletes the copies.
 */
static VALUE segment_near_begin(VALUE self, VALUE keys)
{
    begin_call call; /* not zeroed: the result alone has 16 KB */

    if (!NIL_P(keys)) Check_Type(keys, T_ARRAY);
    call.base = (segment_call){.base.attempt = attempt_begin, .keys = NIL_P(keys) ? 0 : keys};
    segment_make_call(self, &call.base);
    delete_keys(self, keys, tseg_delete);
    return rb_obj_freeze(rb_str_new(call.result.bytes, (long)tseg_begun_bytes(call.result.begun.count)));
}

static const tseg_begun *parse_begun(VALUE string)
{
    const tseg_begun *begun;

    Check_Type(string, T_STRING);
    begun = (const tseg_begun *)RSTRING_PTR(string);
    if (!tseg_is_begun(begun, (size_t)RSTRING_LEN(string)))
        rb_raise(rb_eArgError, "begun: expected the String that near_begin returned");
    return begun;
}

/*
 * Segment#near_end(keys, begun, filled) -> nil. A writer calls near_end after its change of the last tier. The
 * call deletes the keys, unless the writer has filled the keys itself (`filled`) and no other process can have filled
 * them.
 */
static VALUE segment_near_end(VALUE self, VALUE keys, VALUE string, VALUE filled)
{
    const tseg_begun *begun = parse_begun(string);
    bool in_time;

    if (!NIL_P(keys)) Check_Type(keys, T_ARRAY);
    in_time = tseg_near_end_set(segment_current(self), begun); /* another file may have fills of other processes */
    RB_GC_GUARD(string);
    if (!RTEST(filled) || !in_time) delete_keys(self, keys, tseg_near_invalidate);
    return Qnil;
}

bool segment_near_expected(VALUE epoch, uint64_t *expected)
{
    bool found;

    if (!RB_TYPE_P(epoch, T_STRING)) {
        *expected = NUM2ULL(epoch);
        return true;
    }
    found = tseg_near_own_epoch(parse_begun(epoch), expected);
    RB_GC_GUARD(epoch);
    return found;
}

/*
 * Coverage of a near tier: listeners report the changes of the last tier, and reads check whether the copies are valid.
 */
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
    /* A listener has no report of the time before this process attached the segment. A watch (server 0) has one. */
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
    return tseg_acquire_seat(segment_current(self), RTEST(busy)) ? Qtrue : Qfalse;
}

/* Segment#near_gaps -> how often all copies were deleted because no listener of the same server had covered them */
static VALUE segment_near_gaps(VALUE self)
{
    return ULL2NUM(atomic_load_explicit(&segment_current(self)->header->near_gaps, memory_order_seq_cst));
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

/* The tags of frames that Ruby decodes. A read checks the tags of plain Strings itself. */
static bool ask_for_time(void *self, tseg_clock *clock, tseg **segment)
{
    return segment_ask_time((VALUE)self, clock, segment);
}

/* Segment#tags_current?(frame) -> whether the frame has tags and all of them are current */
static VALUE segment_tags_current(VALUE self, VALUE frame)
{
    const uint8_t *part;
    size_t bytes;
    bool current;

    Check_Type(frame, T_STRING);
    if (!OBJ_FROZEN(frame)) frame = rb_str_new_frozen(frame);
    part = tseg_part_of((const uint8_t *)RSTRING_PTR(frame), (size_t)RSTRING_LEN(frame), FRAME_PART_TAGS, &bytes);
    current = part && tseg_tags_are_current(segment_current(self), part, bytes, ask_for_time, (void *)self);
    RB_GC_GUARD(frame);
    return current ? Qtrue : Qfalse;
}

void segment_init_near(void)
{
    rb_define_method(tiercel_segment_class, "near_epoch", segment_near_epoch, -1);
    rb_define_method(tiercel_segment_class, "near_invalidate", segment_near_invalidate, 1);
    rb_define_method(tiercel_segment_class, "near_begin", segment_near_begin, 1);
    rb_define_method(tiercel_segment_class, "near_end", segment_near_end, 3);
    rb_define_method(tiercel_segment_class, "near_clear", segment_near_clear, 0);
    rb_define_method(tiercel_segment_class, "near_cover", segment_near_cover, 3);
    rb_define_method(tiercel_segment_class, "near_covered", segment_near_covered, 0);
    rb_define_method(tiercel_segment_class, "near_gaps", segment_near_gaps, 0);
    rb_define_method(tiercel_segment_class, "near_listen", segment_near_listen, 1);
    rb_define_method(tiercel_segment_class, "near_server", segment_near_server, 0);
    rb_define_method(tiercel_segment_class, "near_trust=", segment_set_near_trust, 1);
    rb_define_method(tiercel_segment_class, "near_trust_recorded=", segment_set_near_trust_recorded, 1);
    rb_define_method(tiercel_segment_class, "near_uncover", segment_near_uncover, 1);
    rb_define_method(tiercel_segment_class, "near_trusted?", segment_near_trusted, 0);
    rb_define_method(tiercel_segment_class, "tags_current?", segment_tags_current, 1);
}
