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

PART_OF_READ VALUE finished(const value_read *read, read_kind kind, bool keeps, const tseg *segment, const tseg_key *key,
                            const tseg_entry *entry)
{
    if (keeps) return result_of(read, kind, segment, key, entry);
    if (kind == READ_FROZEN && read->framed) return rb_ary_new_from_args(1, rb_obj_freeze(read->value));
    if (kind == READ_VALUE && read->framed)
        return frame_result(read->self, kind, read->value, read->frame_type, key, NULL);
    return read->framed || kind == READ_FROZEN ? rb_obj_freeze(read->value) : read->value;
}

/*
 * Segment#sample chooses keys by their hash, so that every read of a chosen key is seen, and all processes choose the
 * same keys. The shard is the hash's first bits, so the choice mixes all of them.
 */
static const uint64_t GOLDEN_RATIO = UINT64_C(0x9E3779B97F4A7C15);
#define IS_SAMPLED(read, key) \
    RB_UNLIKELY((key)->hash * GOLDEN_RATIO < segment_handle_in((read)->self)->sample_below)

/* Tells the observer the key, 53 bits of its mixed hash, and the value's size in bytes; -1: a miss. */
__attribute__((noinline))
static void tell_observer(VALUE self, VALUE key_string, const tseg_key *key, long bytes)
{
    VALUE observer = rb_attr_get(self, rb_intern("@observer"));

    if (NIL_P(observer)) return;
    rb_funcall(observer, rb_intern("sampled"), 3, key_string, ULL2NUM(key->hash * GOLDEN_RATIO >> 11), LONG2NUM(bytes));
}

/* The observer runs Ruby code, which may close the segment, so the result comes first. */
PART_OF_READ VALUE sampled_result(const value_read *read, read_kind kind, bool keeps, const tseg *segment,
                                  const tseg_key *key, const tseg_entry *entry)
{
    VALUE key_string = read->key_string;
    long bytes = (long)entry->value_bytes;
    volatile VALUE result = finished(read, kind, keeps, segment, key, entry);

    tell_observer(read->self, key_string, key, bytes);
    return result;
}

/* Reads one key. Returns Qnil for a miss. */
PART_OF_READ VALUE read_key(value_read *read, tseg_take_function *take, read_kind kind, bool keeps, tseg *segment,
                            tseg_token *token)
{
    VALUE key_string = read->key_string; /* a separate variable for RB_GC_GUARD, so that *read stays in registers */
    tseg_entry entry;
    tseg_key key;

    if (keeps) entry = (tseg_entry){0}; /* silences a warning: the compiler cannot see that tseg_read fills it */
    if (tseg_read(&segment, make_key, ask_time, take, read, &key, &entry) != TSEG_OK) {
        if (kind != READ_BYTES && IS_SAMPLED(read, &key)) tell_observer(read->self, key_string, &key, -1);
        return Qnil;
    }
    if (token) *token = tseg_token_of(segment, &entry);
    if (kind != READ_BYTES) tseg_bump(&segment->self->counters[TSEG_COUNT_SERVED]);
    RB_GC_GUARD(key_string);
    if (kind != READ_BYTES && IS_SAMPLED(read, &key)) return sampled_result(read, kind, keeps, segment, &key, &entry);
    return finished(read, kind, keeps, segment, &key, &entry);
}

/* The compiler inlines everything that these functions call. */
#define READS_IN_ONE_PIECE __attribute__((flatten, noinline)) static VALUE
READS_IN_ONE_PIECE get_bytes(VALUE self, tseg *segment, VALUE key)
{
    value_read read = {.self = self, .key_string = key};
    return read_key(&read, take_bytes, READ_SERVED_BYTES, false, segment, NULL);
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

/* Segment#read(key, version = nil) -> the decoded String, or a frozen frame, or a frozen [frame, token], or nil */
static VALUE segment_read(int count, VALUE *arguments, VALUE self)
{
    tseg *segment = segment_to_read(self);
    tseg_memo *memo;

    rb_check_arity(count, 1, 2);
    if (RB_UNLIKELY(!segment)) return Qnil;
    memo = segment_memo(self);
    if (!memo) return get_value(self, segment, arguments[0]);
    return get_kept(self, segment, arguments[0], count > 1 ? arguments[1] : Qnil, memo);
}

/* Segment#read_frozen(key, version = nil) -> the frozen value, or [frame] or [frame, token] (not frozen), or nil */
static VALUE segment_read_frozen(int count, VALUE *arguments, VALUE self)
{
    tseg *segment = segment_to_read(self);

    rb_check_arity(count, 1, 2);
    if (RB_UNLIKELY(!segment)) return Qnil;
    return get_frozen(self, segment, arguments[0], count > 1 ? arguments[1] : Qnil);
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

/* Segment#sample_below = share of the keys whose reads the observer is told, 0.0 to 0.5 */
static VALUE segment_set_sample_below(VALUE self, VALUE share)
{
    double part = NUM2DBL(share);

    segment_handle_in(self)->sample_below = part > 0 ? (uint64_t)(ldexp(part < 0.5 ? part : 0.5, 53)) << 11 : 0;
    return share;
}

void segment_init_read(void)
{
    rb_define_method(tiercel_segment_class, "sample_below=", segment_set_sample_below, 1);
    rb_define_method(tiercel_segment_class, "get", segment_get, 1);
    rb_define_method(tiercel_segment_class, "get_late", segment_get_late, 1);
    rb_define_method(tiercel_segment_class, "read", segment_read, -1);
    rb_define_method(tiercel_segment_class, "read_frozen", segment_read_frozen, -1);
    rb_define_method(tiercel_segment_class, "get_late_with_token", segment_get_late_with_token, 1);
    rb_define_method(tiercel_segment_class, "get_with_token", segment_get_with_token, 1);
}
