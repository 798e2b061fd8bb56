/* Reads: nothing is allocated but the String that comes back, which may share the bytes of one that the memo keeps. */
#include "binding.h"
#include "binding_memo.h"
#include "../frame_layout.h"
#include "internal.h"

/* Encoding indexes that are fixed in CRuby. */
enum { ENCODING_BINARY = 0, ENCODING_UTF_8 = 1, ENCODING_US_ASCII = 2 };
static const int encoding_of_type[] = {ENCODING_BINARY, ENCODING_UTF_8, ENCODING_BINARY, ENCODING_US_ASCII};

static VALUE copy_whole(const tseg_entry *entry, const tseg_clock *clock, double *expires_at)
{
    VALUE string = rb_str_new(NULL, entry->value_bytes);
    tseg_copy_value(entry, RSTRING_PTR(string), 0, entry->value_bytes);
    return string;
}

/*
 * The payload of a frame that is a plain String and not over, with the frame's end, else the whole frame, frozen;
 * Qundef: what time is it?
 */
static VALUE copy_decoded(const tseg_entry *entry, const tseg_clock *clock, double *expires_at)
{
    uint64_t header[FRAME_HEADER_BYTES / 8];
    int type = 0;
    VALUE string;

    if (entry->value_bytes >= FRAME_HEADER_BYTES) {
        tseg_copy_value(entry, header, 0, FRAME_HEADER_BYTES);
        type = frame_plain_string(header, entry->value_bytes, expires_at);
    }
    if (!type) return rb_obj_freeze(copy_whole(entry, clock, expires_at));
    if (!tseg_knows_time(clock, *expires_at)) return Qundef;
    if (!(*expires_at > clock->now)) return rb_obj_freeze(copy_whole(entry, clock, expires_at));
    string = rb_str_new(NULL, entry->value_bytes - FRAME_HEADER_BYTES);
    tseg_copy_value(entry, RSTRING_PTR(string), FRAME_HEADER_BYTES, entry->value_bytes - FRAME_HEADER_BYTES);
    if (encoding_of_type[type]) ENCODING_SET_INLINED(string, encoding_of_type[type]);
    return string;
}

typedef VALUE copy_function(const tseg_entry *entry, const tseg_clock *clock, double *expires_at);

/* One read: what it is asked, and what it has taken of an entry before it is known whether that is good. */
typedef struct {
    VALUE self, key_string;
    copy_function *copy;
    tseg_memo *memo;   /* NULL where the String is always a copy; the compiler leaves out all of it then */
    VALUE string;      /* what is kept of the entry, or a copy */
    bool kept;
    double expires_at; /* of the frame, where it was copied */
} string_read;

/* The frozen String that the memo keeps of an entry; Qnil: none, or one that is over; Qundef: what time is it? */
static inline VALUE kept_of(tseg_memo *memo, const tseg_key *key, const tseg_token *token, const tseg_clock *clock)
{
    tseg_memo_slot *slot = tseg_memo_find(memo, key->hash, token);

    if (!slot) return Qnil;
    if (!tseg_knows_time(clock, slot->expires_at)) return Qundef;
    if (slot->expires_at != INFINITY && !(slot->expires_at > clock->now)) return Qnil;
    tseg_memo_hit(memo, slot);
    return (VALUE)slot->value;
}

static inline bool worth_keeping(const tseg_entry *entry)
{
    return entry->value_bytes >= TSEG_MEMO_LEAST_BYTES + FRAME_HEADER_BYTES;
}

static void make_key(void *context, const tseg *segment, tseg_key *key)
{
    segment_key(segment, key, ((string_read *)context)->key_string);
}

static bool ask_time(void *context, tseg_clock *clock, tseg **segment)
{
    return segment_ask_time(((string_read *)context)->self, clock, segment);
}

static bool take_string(void *context, const tseg *segment, const tseg_key *key, const tseg_entry *entry,
                        const tseg_clock *clock)
{
    string_read *read = context;

    read->string = Qnil;
    if (read->memo && worth_keeping(entry)) {
        tseg_token token = tseg_token_of(segment, entry);
        read->string = kept_of(read->memo, key, &token, clock);
    }
    read->kept = read->string != Qnil;
    if (!read->kept) read->string = read->copy(entry, clock, &read->expires_at);
    return read->string != Qundef;
}

static const tseg_reader string_reader = {make_key, ask_time, take_string};

/* What the caller gets: of what is kept a String that shares its bytes. */
static inline VALUE hand_out(const string_read *read, const tseg *segment, const tseg_key *key,
                             const tseg_entry *entry)
{
    tseg_token token;

    if (read->kept) return segment_share(read->string);
    if (!worth_keeping(entry) || OBJ_FROZEN(read->string)) return read->string;
    token = tseg_token_of(segment, entry);
    return segment_keep(read->self, key, &token, read->expires_at, read->string);
}

/* Qnil for a miss. */
static inline VALUE read_key(VALUE self, tseg *segment, VALUE key_string, copy_function *copy, tseg_memo *memo,
                             tseg_token *token)
{
    string_read read = {self, key_string, copy, memo, Qnil, false, INFINITY};
    tseg_entry entry;
    tseg_key key;

    if (memo) entry = (tseg_entry){0}; /* for the compiler, which cannot see there that it is filled */
    if (tseg_read(&segment, &string_reader, &read, &key, &entry) != TSEG_OK) return Qnil;
    if (token) *token = tseg_token_of(segment, &entry);
    RB_GC_GUARD(key_string);
    return memo ? hand_out(&read, segment, &key, &entry) : read.string;
}

/* All that a read calls in the core becomes part of these three. */
#define READS_IN_ONE_PIECE __attribute__((flatten, noinline))
READS_IN_ONE_PIECE static VALUE get_key(VALUE self, tseg *segment, VALUE key)
{
    return read_key(self, segment, key, copy_whole, NULL, NULL);
}
READS_IN_ONE_PIECE static VALUE get_kept_or_decoded(VALUE self, tseg *segment, VALUE key, tseg_memo *memo)
{
    return read_key(self, segment, key, copy_decoded, memo, NULL);
}
READS_IN_ONE_PIECE static VALUE get_decoded(VALUE self, tseg *segment, VALUE key)
{
    tseg_memo *memo = segment_memo(self);

    if (memo) return get_kept_or_decoded(self, segment, key, memo);
    return read_key(self, segment, key, copy_decoded, NULL, NULL);
}

/* Segment#get(key) -> String or nil */
static VALUE segment_get(VALUE self, VALUE key) { return get_key(self, segment_current(self), key); }

/* Segment#read(key) -> the decoded String, a frozen frame, or nil */
static VALUE segment_read(VALUE self, VALUE key) { return get_decoded(self, segment_current(self), key); }

VALUE segment_token_string(const tseg_token *token)
{
    char bytes[SEGMENT_TOKEN_BYTES];

    memcpy(bytes, &token->file_id, 8);
    memcpy(bytes + 8, &token->origin, 8);
    memcpy(bytes + 16, &token->sequence, 4);
    return rb_obj_freeze(rb_str_new(bytes, SEGMENT_TOKEN_BYTES));
}

bool segment_parse_token(VALUE string, tseg_token *token)
{
    const char *bytes;

    if (!RB_TYPE_P(string, T_STRING) || RSTRING_LEN(string) != SEGMENT_TOKEN_BYTES) return false;
    bytes = RSTRING_PTR(string);
    memcpy(&token->file_id, bytes, 8);
    memcpy(&token->origin, bytes + 8, 8);
    memcpy(&token->sequence, bytes + 16, 4);
    return true;
}

/* Segment#get_with_token(key) -> [String, token] or nil */
static VALUE segment_get_with_token(VALUE self, VALUE key)
{
    tseg_token token;
    VALUE string = read_key(self, segment_current(self), key, copy_whole, NULL, &token);
    return NIL_P(string) ? Qnil : rb_assoc_new(string, segment_token_string(&token));
}

/* Segment#unchanged?(key, token) -> true or false */
static VALUE segment_unchanged(VALUE self, VALUE key_string, VALUE token_string)
{
    tseg *segment = segment_current(self);
    tseg_clock clock = {false, 0};
    tseg_token token, found;
    tseg_entry entry;
    tseg_key key;

    if (!segment_parse_token(token_string, &token)) return Qfalse;
    do {
        segment_key(segment, &key, key_string);
        if (tseg_find(segment, &key, &entry) != TSEG_OK) return Qfalse;
        found = tseg_token_of(segment, &entry);
    } while (!tseg_knows_time(&clock, entry.expires_at) && !segment_ask_time(self, &clock, &segment));
    if (!tseg_is_same(&found, &token) || !tseg_is_live(segment, &entry, clock.now) || !tseg_intact(&entry))
        return Qfalse;
    tseg_hit(segment, &entry);
    RB_GC_GUARD(key_string);
    return Qtrue;
}

/* frames: nil, or an Array for the keys of what came back whole. */
static inline VALUE read_many(VALUE self, VALUE keys, VALUE (*read_one)(VALUE, tseg *, VALUE), VALUE frames)
{
    VALUE found;

    Check_Type(keys, T_ARRAY);
    found = rb_hash_new_capa(RARRAY_LEN(keys));
    for (long i = 0; i < RARRAY_LEN(keys); i++) {
        VALUE key = RARRAY_AREF(keys, i), string = read_one(self, segment_current(self), key);
        if (NIL_P(string)) continue;
        rb_hash_aset(found, key, string);
        if (OBJ_FROZEN(string) && !NIL_P(frames)) rb_ary_push(frames, key);
    }
    return found;
}

/* Segment#get_multi(keys) -> Hash */
static VALUE segment_get_multi(VALUE self, VALUE keys) { return read_many(self, keys, get_key, Qnil); }

/* Segment#read_multi(keys, frames = nil) -> Hash of what #read gives; the keys of frames are added to the Array */
static VALUE segment_read_multi(int count, VALUE *arguments, VALUE self)
{
    rb_check_arity(count, 1, 2);
    if (count > 1) Check_Type(arguments[1], T_ARRAY);
    return read_many(self, arguments[0], get_decoded, count > 1 ? arguments[1] : Qnil);
}

void segment_init_read(void)
{
    rb_define_method(tiercel_segment_class, "get", segment_get, 1);
    rb_define_method(tiercel_segment_class, "read", segment_read, 1);
    rb_define_method(tiercel_segment_class, "get_with_token", segment_get_with_token, 1);
    rb_define_method(tiercel_segment_class, "unchanged?", segment_unchanged, 2);
    rb_define_method(tiercel_segment_class, "get_multi", segment_get_multi, 1);
    rb_define_method(tiercel_segment_class, "read_multi", segment_read_multi, -1);
}
