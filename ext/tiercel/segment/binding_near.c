/* A segment in front of a farther tier. What a writer has begun is a String: a tseg_begun. */
#include "binding.h"
#include "near.h"

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

/* Which stripes the keys are in; all of them for nil. */
static tseg_stripe_set stripes_of(const tseg *segment, VALUE keys)
{
    tseg_stripe_set set = {{0}};

    if (NIL_P(keys)) tseg_near_mark_all(&set);
    else for (long i = 0; i < RARRAY_LEN(keys); i++) {
        tseg_key key;
        segment_key(segment, &key, RARRAY_AREF(keys, i));
        tseg_near_mark(segment, &set, &key);
    }
    return set;
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
    tseg_stripe_set set;
    tseg *segment;
    VALUE begun;

    if (!NIL_P(keys)) Check_Type(keys, T_ARRAY);
    do {
        segment = segment_current(self);
        set = stripes_of(segment, keys);
        begun = rb_str_new(NULL, (long)tseg_begun_bytes(segment, &set));
        tseg_near_begin_set(segment, &set, (tseg_begun *)RSTRING_PTR(begun));
    } while (RB_UNLIKELY(tseg_is_retired(segment)));
    delete_keys(self, keys, tseg_delete);
    return rb_obj_freeze(begun);
}

static const tseg_begun *parse_begun(VALUE string)
{
    const tseg_begun *begun;

    Check_Type(string, T_STRING);
    begun = (const tseg_begun *)RSTRING_PTR(string);
    if (!tseg_is_begun(begun, (size_t)RSTRING_LEN(string))) rb_raise(rb_eArgError, "expected what near_begin gave");
    return begun;
}

/*
 * Segment#near_end(keys, begun, filled) -> nil. After what is behind was changed. The keys are deleted, unless `filled`
 * says that the writer's own near fill was made and nobody else can have made one
 */
static VALUE segment_near_end(VALUE self, VALUE keys, VALUE string, VALUE filled)
{
    const tseg_begun *begun = parse_begun(string);
    bool in_time;

    if (!NIL_P(keys)) Check_Type(keys, T_ARRAY);
    in_time = tseg_near_end_set(segment_current(self), begun); /* in another file: what is there may be a fill */
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
