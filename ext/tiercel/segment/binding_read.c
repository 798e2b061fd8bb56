/*
 * Reads. A read allocates nothing but its result: a String, a String that shares the bytes of a value in the memo, or a
 * frame that Ruby decodes. If the memo wants the decoded value, the result is the frame with its token.
 */
#include "binding_read.h"
#include "binding_read_value.h"

/* A frame that Ruby decodes, together with its token if the memo wants the value. */
__attribute__((noinline))
static VALUE frame_result(VALUE self, read_kind kind, VALUE frame, int type, const tseg_key *key,
                            const tseg_token *token)
{
    bool wanted = token && type && segment_wants_frame(self, frame, key, token, kind == READ_FROZEN);

    rb_obj_freeze(frame);
    if (wanted) {
        VALUE both = rb_assoc_new(frame, segment_token_string(token));
        return kind == READ_FROZEN ? both : rb_obj_freeze(both);
    }
    return kind == READ_FROZEN ? rb_ary_new_from_args(1, frame) : frame;
}

/* The caller gets a String that shares the bytes in the memo, or the frozen object itself. */
PART_OF_READ VALUE result_of(const value_read *read, read_kind kind, const tseg *segment, const tseg_key *key,
                            const tseg_entry *entry)
{
    tseg_token token;
    bool kept = read->kept;

    if (!kept && (read->framed || is_long(read, entry))) token = tseg_token_of(segment, entry);
    if (read->framed) return frame_result(read->self, kind, read->value, read->frame_type, key, &token);
    if (!kept && is_long(read, entry) && !read->tagged)
        kept = segment_keep_string(read->self, key, &token, read->expires_at, read->value);
    if (!kept && is_long(read, entry) && !NIL_P(read->tags))
        kept = segment_keep_tagged_string(read->self, key, &token, read->expires_at, read->value, read->tags);
    if (kind == READ_FROZEN) return rb_obj_freeze(read->value);
    return kept ? segment_share(read->value) : read->value;
}

/* Reads one key. Returns Qnil for a miss. */
PART_OF_READ VALUE read_key(value_read *read, tseg_take_function *take, read_kind kind, bool keeps, tseg *segment,
                            tseg_token *token)
{
    VALUE key_string = read->key_string; /* a separate variable for RB_GC_GUARD, so that *read stays in registers */
    tseg_entry entry;
    tseg_key key;

    if (keeps) entry = (tseg_entry){0}; /* silences a warning: the compiler cannot see that tseg_read fills it */
    if (tseg_read(&segment, make_key, ask_time, take, read, &key, &entry) != TSEG_OK) return Qnil;
    if (token) *token = tseg_token_of(segment, &entry);
    if (kind != READ_BYTES) tseg_bump(&segment->self->counters[TSEG_COUNT_SERVED]);
    RB_GC_GUARD(key_string);
    if (keeps) return result_of(read, kind, segment, &key, &entry);
    if (kind == READ_FROZEN && read->framed) return rb_ary_new_from_args(1, rb_obj_freeze(read->value));
    if (kind == READ_VALUE && read->framed)
        return frame_result(read->self, kind, read->value, read->frame_type, &key, NULL);
    return read->framed || kind == READ_FROZEN ? rb_obj_freeze(read->value) : read->value;
}

/* The compiler inlines everything that these functions call. */
#define READS_IN_ONE_PIECE __attribute__((flatten, noinline)) static VALUE
READS_IN_ONE_PIECE get_bytes(VALUE self, tseg *segment, VALUE key)
{
    value_read read = {.self = self, .key_string = key};
    return read_key(&read, take_bytes, READ_BYTES, false, segment, NULL);
}
READS_IN_ONE_PIECE get_value(VALUE self, tseg *segment, VALUE key)
{
    value_read read = {.self = self, .key_string = key};
    return read_key(&read, take_value_copy, READ_VALUE, false, segment, NULL);
}
READS_IN_ONE_PIECE get_kept(VALUE self, tseg *segment, VALUE key, VALUE version, tseg_memo *memo)
{
    value_read read = {.self = self, .key_string = key, .memo = memo, .version = version};
    return read_key(&read, take_kept, READ_VALUE, true, segment, NULL);
}
/* Like the functions above for a value that stays valid for `ahead` seconds; otherwise returns the entry's frame. */
READS_IN_ONE_PIECE get_ahead(VALUE self, tseg *segment, VALUE key, VALUE version, double ahead)
{
    value_read read = {.self = self, .key_string = key, .memo = segment_memo(self), .version = version,
                       .ahead = ahead};

    if (read.memo) return read_key(&read, take_kept, READ_VALUE, true, segment, NULL);
    return read_key(&read, take_value_copy, READ_VALUE, false, segment, NULL);
}
READS_IN_ONE_PIECE get_frozen(VALUE self, tseg *segment, VALUE key, VALUE version)
{
    value_read read = {.self = self, .key_string = key, .memo = segment_memo(self), .version = version};

    if (read.memo) return read_key(&read, take_frozen, READ_FROZEN, true, segment, NULL);
    return read_key(&read, take_frozen_copy, READ_FROZEN, false, segment, NULL);
}

/* Like get, with a tseg_key that the caller has made. */
READS_IN_ONE_PIECE get_made(VALUE self, tseg *segment, VALUE key, const tseg_key *made, VALUE version)
{
    value_read read = {.self = self, .key_string = key, .made = made};
    return read_key(&read, take_bytes, READ_BYTES, false, segment, NULL);
}
READS_IN_ONE_PIECE read_made(VALUE self, tseg *segment, VALUE key, const tseg_key *made, VALUE version)
{
    value_read read = {.self = self, .key_string = key, .made = made, .memo = segment_memo(self),
                       .version = version};

    if (read.memo) return read_key(&read, take_kept, READ_VALUE, true, segment, NULL);
    return read_key(&read, take_value_copy, READ_VALUE, false, segment, NULL);
}
segment_one_read *const segment_get_made = get_made, *const segment_read_made = read_made;

/* Segment#get(key) -> String or nil */
static VALUE segment_get(VALUE self, VALUE key)
{
    tseg *segment = segment_to_read(self);
    return RB_LIKELY(segment) ? get_bytes(self, segment, key) : Qnil;
}

/* Segment#get_late(key) -> String or nil, as #get, but also if this Segment does not trust its copies */
static VALUE segment_get_late(VALUE self, VALUE key) { return get_bytes(self, segment_current(self), key); }

enum { SAMPLE_BITS = 10, SAMPLE = 1 << SAMPLE_BITS };

/* 2^32 divided by the golden ratio, as in counter_page.c. */
static const uint32_t GOLDEN_RATIO = 2654435769u;

__attribute__((noinline)) static void tell_sampler(VALUE self, VALUE key)
{
    VALUE sampler = rb_attr_get(self, rb_intern("@sampler"));

    if (!NIL_P(sampler)) rb_funcall(sampler, rb_intern("sampled"), 2, key, INT2FIX(SAMPLE));
}

/*
 * Passes the key of one of each SAMPLE hits in a row, and their number, to the sampler, which estimates the hits of
 * each class of keys.
 * The place differs from group to group, because many requests read their keys in a fixed order.
 */
static inline VALUE sampled(VALUE self, VALUE key, VALUE value)
{
    tseg_handle *handle = segment_handle_in(self);
    uint32_t number;

    if (NIL_P(value)) return value;
    number = ++handle->served;
    if (RB_LIKELY(number % SAMPLE != (number / SAMPLE * GOLDEN_RATIO) >> (32 - SAMPLE_BITS))) return value;
    tell_sampler(self, key);
    RB_GC_GUARD(value);
    return value;
}

/*
 * Segment#read(key, version = nil, ahead = nil) -> the decoded String, or a frozen frame, or a frozen [frame, token],
 * or nil. A String that expires within `ahead` seconds is returned as its frame.
 */
static VALUE segment_read(int count, VALUE *arguments, VALUE self)
{
    double ahead = count > 2 && !NIL_P(arguments[2]) ? NUM2DBL(arguments[2]) : 0;
    tseg *segment = segment_to_read(self);
    tseg_memo *memo;

    rb_check_arity(count, 1, 3);
    if (RB_UNLIKELY(!segment)) return Qnil;
    if (RB_UNLIKELY(count > 2)) return get_ahead(self, segment, arguments[0], arguments[1], ahead);
    memo = segment_memo(self);
    if (!memo) return sampled(self, arguments[0], get_value(self, segment, arguments[0]));
    return sampled(self, arguments[0], get_kept(self, segment, arguments[0], count > 1 ? arguments[1] : Qnil, memo));
}

/* Segment#read_frozen(key, version = nil) -> the frozen value, or [frame] or [frame, token] (not frozen), or nil */
static VALUE segment_read_frozen(int count, VALUE *arguments, VALUE self)
{
    tseg *segment = segment_to_read(self);

    rb_check_arity(count, 1, 2);
    if (RB_UNLIKELY(!segment)) return Qnil;
    return sampled(self, arguments[0], get_frozen(self, segment, arguments[0], count > 1 ? arguments[1] : Qnil));
}

static VALUE get_with_token(VALUE self, tseg *segment, VALUE key)
{
    value_read read = {.self = self, .key_string = key};
    tseg_token token;
    VALUE string = segment ? read_key(&read, take_bytes, READ_BYTES, false, segment, &token) : Qnil;

    return NIL_P(string) ? Qnil : rb_assoc_new(string, segment_token_string(&token));
}

/* Segment#get_with_token(key) -> [String, token] or nil */
static VALUE segment_get_with_token(VALUE self, VALUE key) { return get_with_token(self, segment_to_read(self), key); }

/* Segment#get_late_with_token(key) -> [String, token] or nil, also if this Segment does not trust its copies */
static VALUE segment_get_late_with_token(VALUE self, VALUE key)
{
    return get_with_token(self, segment_current(self), key);
}

void segment_init_read(void)
{
    rb_define_method(tiercel_segment_class, "get", segment_get, 1);
    rb_define_method(tiercel_segment_class, "get_late", segment_get_late, 1);
    rb_define_method(tiercel_segment_class, "read", segment_read, -1);
    rb_define_method(tiercel_segment_class, "read_frozen", segment_read_frozen, -1);
    rb_define_method(tiercel_segment_class, "get_late_with_token", segment_get_late_with_token, 1);
    rb_define_method(tiercel_segment_class, "get_with_token", segment_get_with_token, 1);
}
