/* A segment in front of a farther tier. What a writer has begun is a String: the file, stripes, their words. */
#include "binding.h"
#include "near.h"

typedef struct {
    uint64_t stripe, word;
} begun_stripe;

typedef struct {
    uint64_t file_id, count;
    begun_stripe stripes[];
} begun_change;

/* An epoch belongs to its file. */
static VALUE epoch_number(const tseg *segment, uint64_t word) { return ULL2NUM(word ^ segment->file_id); }

/*
 * Segment#near_epoch(key, late = false) -> Integer for near_fill, taken before the value is fetched; nil while a writer
 * is at work, or copies are not trusted, unless that does not matter
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

/* Segment#near_invalidate(key): no fill whose epoch was taken before comes after it */
static VALUE segment_near_invalidate(VALUE self, VALUE key)
{
    return segment_delete_key(self, key, tseg_near_invalidate) ? Qtrue : Qfalse;
}

/* Which stripes the keys are in; all of them for nil. One bit each. */
static void mark_stripes(const tseg *segment, VALUE keys, uint8_t *marked)
{
    memset(marked, NIL_P(keys) ? 0xff : 0, TSEG_STRIPES / 8);
    if (NIL_P(keys)) return;
    for (long i = 0; i < RARRAY_LEN(keys); i++) {
        tseg_key key;
        uint32_t stripe;
        segment_key(segment, &key, RARRAY_AREF(keys, i));
        stripe = tseg_near_stripe(segment, &key);
        marked[stripe / 8] |= (uint8_t)(1u << stripe % 8);
    }
}

static VALUE begin_stripes(tseg *segment, const uint8_t *marked)
{
    begun_change begun = {.file_id = segment->file_id};
    VALUE string;

    for (uint32_t i = 0; i < segment->geometry.stripes; i++) begun.count += marked[i / 8] >> i % 8 & 1;
    string = rb_str_new(NULL, (long)(sizeof(begun) + begun.count * sizeof(begun_stripe)));
    memcpy(RSTRING_PTR(string), &begun, sizeof(begun));
    for (uint32_t i = 0, at = 0; i < segment->geometry.stripes; i++) {
        begun_stripe one = {.stripe = i};
        if (!(marked[i / 8] >> i % 8 & 1)) continue;
        one.word = tseg_near_begin(segment, i);
        memcpy(RSTRING_PTR(string) + sizeof(begun) + at++ * sizeof(one), &one, sizeof(one));
    }
    return string;
}

static void delete_keys(VALUE self, VALUE keys, tseg_result (*delete)(tseg *, const tseg_key *, double *))
{
    if (NIL_P(keys)) return;
    for (long i = 0; i < RARRAY_LEN(keys); i++) segment_delete_key(self, RARRAY_AREF(keys, i), delete);
}

/*
 * Segment#near_begin(keys) -> String for near_fill and near_end. Before what is behind is changed: from now until the
 * end nobody else fills these keys, and they are deleted. nil: any key may be changed; they are left to the caller
 */
static VALUE segment_near_begin(VALUE self, VALUE keys)
{
    uint8_t marked[TSEG_STRIPES / 8];
    tseg *segment;
    VALUE begun;

    if (!NIL_P(keys)) Check_Type(keys, T_ARRAY);
    do {
        segment = segment_current(self);
        mark_stripes(segment, keys, marked);
        begun = begin_stripes(segment, marked);
    } while (RB_UNLIKELY(tseg_is_retired(segment)));
    delete_keys(self, keys, tseg_delete);
    return rb_obj_freeze(begun);
}

static const begun_change *parse_begun(VALUE string)
{
    const begun_change *begun;

    Check_Type(string, T_STRING);
    begun = (const begun_change *)RSTRING_PTR(string);
    if (RSTRING_LEN(string) < (long)sizeof(*begun) || begun->count > TSEG_STRIPES ||
        RSTRING_LEN(string) != (long)(sizeof(*begun) + begun->count * sizeof(begun_stripe)))
        rb_raise(rb_eArgError, "expected what near_begin gave");
    return begun;
}

/*
 * Segment#near_end(keys, begun, filled) -> nil. After what is behind was changed. The keys are deleted, unless `filled`
 * says that the writer's own near fill was made and nobody else can have made one
 */
static VALUE segment_near_end(VALUE self, VALUE keys, VALUE string, VALUE filled)
{
    const begun_change *begun = parse_begun(string);
    tseg *segment;
    bool in_time = true;

    if (!NIL_P(keys)) Check_Type(keys, T_ARRAY);
    segment = segment_current(self);
    if (segment->file_id != begun->file_id) { /* nobody has begun in this one: what is there may be a fill */
        delete_keys(self, keys, tseg_near_invalidate);
        return Qnil;
    }
    for (uint64_t i = 0; i < begun->count; i++) {
        begun_stripe one = begun->stripes[i];
        if (one.stripe < segment->geometry.stripes && !tseg_near_end(segment, (uint32_t)one.stripe, one.word))
            in_time = false;
    }
    RB_GC_GUARD(string);
    if (!RTEST(filled) || !in_time) delete_keys(self, keys, tseg_near_invalidate);
    return Qnil;
}

bool segment_near_expected(VALUE epoch, uint64_t *expected)
{
    const begun_change *begun;

    if (!RB_TYPE_P(epoch, T_STRING)) {
        *expected = NUM2ULL(epoch);
        return true;
    }
    begun = parse_begun(epoch);
    if (begun->count != 1 || !tseg_near_is_alone(begun->stripes[0].word)) return false;
    *expected = begun->stripes[0].word ^ begun->file_id;
    RB_GC_GUARD(epoch);
    return true;
}

void segment_init_near(void)
{
    rb_define_method(tiercel_segment_class, "near_epoch", segment_near_epoch, -1);
    rb_define_method(tiercel_segment_class, "near_invalidate", segment_near_invalidate, 1);
    rb_define_method(tiercel_segment_class, "near_begin", segment_near_begin, 1);
    rb_define_method(tiercel_segment_class, "near_end", segment_near_end, 3);
}
