/* A segment as a near tier, in front of the last tier. Ruby keeps a begun change (a tseg_begun) as a String. */
#include "binding.h"
#include "near.h"

/* The number differs for each file, so that an epoch of another file matches nothing. */
static VALUE epoch_number(const tseg *segment, uint64_t word) { return ULL2NUM(word ^ segment->file_id); }

/*
 * Segment#near_epoch(key, late = false) -> Integer for near_fill; the caller takes it before it fetches the value. nil
 * while a writer changes a key of the stripe, or if this Segment does not trust its copies and `late` is false.
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

/* The stripes of the keys; all stripes for 0. */
static tseg_stripe_set stripes_of(const tseg *segment, VALUE keys)
{
    tseg_stripe_set set = {{0}};

    if (!keys) tseg_near_mark_all(&set);
    else for (long i = 0; i < RARRAY_LEN(keys); i++) {
        tseg_key key;
        segment_key(segment, &key, RARRAY_AREF(keys, i));
        tseg_near_mark(segment, &set, &key);
    }
    return set;
}

static void delete_keys(VALUE self, VALUE keys, tseg_delete_function *delete)
{
    if (NIL_P(keys)) return;
    for (long i = 0; i < RARRAY_LEN(keys); i++) segment_delete_key(self, RARRAY_AREF(keys, i), delete);
}

/* A begun change of all stripes has this many bytes. */
#define MOST_BEGUN_BYTES (sizeof(tseg_begun) + TSEG_STRIPES * sizeof(tseg_begun_stripe))

typedef struct {
    segment_call base;
    size_t begun_bytes;
    union {
        tseg_begun begun;
        char bytes[MOST_BEGUN_BYTES];
    } result;
} begin_call;

static tseg_result attempt_begin(tseg_call *base, tseg *segment)
{
    begin_call *call = (begin_call *)base;
    tseg_stripe_set set = stripes_of(segment, call->base.keys);

    call->begun_bytes = tseg_begun_bytes(segment, &set);
    return tseg_near_begin_set(segment, &set, &call->result.begun);
}

/*
 * Segment#near_begin(keys) -> String for near_fill and near_end. A writer calls it before it changes the last tier. It
 * deletes the keys' copies, and until near_end no other caller can fill them. keys is nil if any key may change; the
 * caller then deletes the copies.
 */
static VALUE segment_near_begin(VALUE self, VALUE keys)
{
    begin_call call; /* not zeroed: the result alone has 16 KB */

    if (!NIL_P(keys)) Check_Type(keys, T_ARRAY);
    call.base = (segment_call){.base.attempt = attempt_begin, .keys = NIL_P(keys) ? 0 : keys};
    segment_make_call(self, &call.base);
    delete_keys(self, keys, tseg_delete);
    return rb_obj_freeze(rb_str_new(call.result.bytes, (long)call.begun_bytes));
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
 * Segment#near_end(keys, begun, filled) -> nil. The writer calls it after it has changed the last tier. It deletes the
 * keys, unless the writer has filled them itself (`filled`) and no other process can have filled them.
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

void segment_init_near(void)
{
    rb_define_method(tiercel_segment_class, "near_epoch", segment_near_epoch, -1);
    rb_define_method(tiercel_segment_class, "near_invalidate", segment_near_invalidate, 1);
    rb_define_method(tiercel_segment_class, "near_begin", segment_near_begin, 1);
    rb_define_method(tiercel_segment_class, "near_end", segment_near_end, 3);
}
