/*
 * Reads. Nothing is allocated but what comes back: a String, or one that shares the bytes of what the memo keeps; of a
 * frame that Ruby has to decode, where the memo wants what comes of it, the token too.
 */
#include "binding_read.h"
#include "binding_memo.h"
#include "../frame_layout.h"
#include "read.h"
#include "tags.h"

/* Encoding indexes that are fixed in CRuby. */
enum { ENCODING_BINARY = 0, ENCODING_UTF_8 = 1, ENCODING_US_ASCII = 2 };
static const int encoding_of_type[] = {ENCODING_BINARY, ENCODING_UTF_8, ENCODING_BINARY, ENCODING_US_ASCII};

/* With what it is told as constants it becomes part of each of the reads at the end. */
#define PART_OF_READ static inline __attribute__((always_inline))

typedef enum { READ_BYTES, READ_OWN, READ_FROZEN } read_kind; /* the frame; a value of the caller's own; a frozen one */

/* One read: what it is asked, and what it has taken of an entry before it is known whether that is good. */
typedef struct {
    VALUE self, key_string;
    const tseg_key *made; /* for the first try, or NULL */
    tseg_memo *memo;      /* NULL: nothing is kept */
    VALUE version;        /* that the caller wants, or nil */
    VALUE value;          /* what is kept of the entry, or a copy */
    VALUE tags;           /* the part TAGS of what the memo wants, or nil */
    double ahead;         /* seconds that the value has to be good for, from now on */
    bool kept;
    bool tagged;          /* value: a String whose tags are current now */
    int frame_type;       /* of a frame that is copied whole; 0: of a plain String, or no frame */
    bool framed;
    double expires_at;    /* of the frame of a plain String */
} value_read;

PART_OF_READ void copy_whole(value_read *read, const tseg_entry *entry)
{
    tseg_prefetch_value(entry);
    read->value = rb_str_new(NULL, entry->value_bytes);
    tseg_copy_value(entry, RSTRING_PTR(read->value), 0, entry->value_bytes);
}

/* Longer parts are left to Ruby: of more than 100 tags of the usual length. */
enum { TAGS_MOST_BYTES = 4096 };

static bool wants_tagged(tseg_memo *memo, const tseg *segment, const tseg_key *key, const tseg_entry *entry)
{
    tseg_token token = tseg_token_of(segment, entry);
    tseg_memo_candidate candidate = {key->hash, &token, entry->value_bytes, false};

    return candidate.bytes >= memo->least_bytes && tseg_memo_wants(memo, &candidate);
}

/*
 * The payload of a frame that would be a plain String but for its tags, if those are current. The memory fetches their
 * buckets while the payload is copied. Runs no Ruby code: the caller still has to see whether the entry is intact.
 */
__attribute__((noinline))
static tseg_tags_answer copy_tagged(value_read *read, tseg *segment, const tseg_key *key, const tseg_entry *entry,
                                    const tseg_clock *clock, const uint64_t *header)
{
    uint8_t parts[TAGS_MOST_BYTES];
    uint32_t parts_bytes, from;
    const uint8_t *part;
    size_t part_bytes;
    tseg_tags tags;
    VALUE value;
    int type = frame_string_with_parts(header, entry->value_bytes, &parts_bytes, &read->expires_at);

    if (!type || parts_bytes > TAGS_MOST_BYTES) return TSEG_TAGS_OUTDATED;
    if (!tseg_knows_time(clock, read->expires_at)) return TSEG_TAGS_NEED_TIME;
    if (!(read->expires_at > clock->now + read->ahead)) return TSEG_TAGS_OUTDATED;
    tseg_copy_value(entry, parts, FRAME_HEADER_BYTES, parts_bytes);
    part = tseg_tags_among(parts, parts_bytes, &part_bytes);
    if (!part || part_bytes + FRAME_PART_HEADER_BYTES != parts_bytes) return TSEG_TAGS_OUTDATED;
    tseg_tags_begin(&tags, segment, part, part_bytes);
    from = FRAME_HEADER_BYTES + parts_bytes;
    value = rb_str_new(NULL, entry->value_bytes - from);
    tseg_copy_value(entry, RSTRING_PTR(value), from, entry->value_bytes - from);
    if (encoding_of_type[type]) ENCODING_SET_INLINED(value, encoding_of_type[type]);
    read->value = value;
    if (read->memo && wants_tagged(read->memo, segment, key, entry))
        read->tags = rb_obj_freeze(rb_str_new((const char *)part, (long)part_bytes));
    return tseg_tags_finish(&tags, segment, clock);
}

/* The payload of a frame that is a plain String and not over, else the whole frame. false: what time is it? */
PART_OF_READ bool copy_decoded(value_read *read, read_kind kind, tseg *segment, const tseg_key *key,
                               const tseg_entry *entry, const tseg_clock *clock)
{
    uint64_t header[FRAME_HEADER_BYTES / 8] = {0};
    int type = 0;

    if (entry->value_bytes >= FRAME_HEADER_BYTES) {
        for (int i = 0; i < FRAME_HEADER_BYTES / 8; i++) header[i] = tseg_load(entry->value + i);
        type = frame_plain_string(header, entry->value_bytes, &read->expires_at);
    }
    if (type && !tseg_knows_time(clock, read->expires_at)) return false;
    read->framed = !type || !(read->expires_at > clock->now + read->ahead);
    if (read->framed) {
        if (kind == READ_OWN && !type && !frame_is_bare(header[0])) {
            tseg_tags_answer answer = copy_tagged(read, segment, key, entry, clock, header);
            if (answer == TSEG_TAGS_NEED_TIME) return false;
            read->tagged = answer == TSEG_TAGS_CURRENT;
            read->framed = !read->tagged;
            if (read->tagged) return true;
        }
        read->frame_type = (header[0] & 0xff) == FRAME_MAGIC ? (int)(header[0] >> (8 * FRAME_OFFSET_TYPE) & 0xff) : 0;
        copy_whole(read, entry);
        return true;
    }
    tseg_prefetch_value(entry);
    read->value = rb_str_new(NULL, entry->value_bytes - FRAME_HEADER_BYTES);
    tseg_copy_value(entry, RSTRING_PTR(read->value), FRAME_HEADER_BYTES, entry->value_bytes - FRAME_HEADER_BYTES);
    if (encoding_of_type[type]) ENCODING_SET_INLINED(read->value, encoding_of_type[type]);
    return true;
}

/* Whether what is kept is of the version that the caller wants; one without a version suits every caller. */
static inline bool suits(const tseg_memo_slot *slot, VALUE wanted)
{
    VALUE version = segment_terms_version(slot->terms);

    if (RB_LIKELY(NIL_P(version) || NIL_P(wanted))) return true;
    return RB_TYPE_P(wanted, T_STRING) && rb_str_hash_cmp(version, wanted) == 0;
}

__attribute__((noinline))
static tseg_tags_answer look_at_tags(VALUE part, tseg *segment, const tseg_clock *clock)
{
    tseg_tags tags;
    tseg_tags_answer answer;

    tseg_tags_begin(&tags, segment, (const uint8_t *)RSTRING_PTR(part), (size_t)RSTRING_LEN(part));
    answer = tseg_tags_finish(&tags, segment, clock);
    RB_GC_GUARD(part);
    return answer;
}

/* Qnil: nothing is kept of the entry that may be handed out; Qundef: what time is it? */
PART_OF_READ VALUE kept_of(const value_read *read, read_kind kind, tseg *segment, const tseg_key *key,
                           const tseg_entry *entry, const tseg_clock *clock)
{
    tseg_token token = tseg_token_of(segment, entry);
    tseg_memo_slot *slot = tseg_memo_find(read->memo, key->hash, &token);
    VALUE tags;

    if (!slot) return Qnil;
    if (!tseg_knows_time(clock, slot->expires_at)) return Qundef;
    if (slot->expires_at != INFINITY && !(slot->expires_at > clock->now + read->ahead)) return Qnil;
    if (!suits(slot, read->version)) return Qnil;
    if (kind == READ_OWN && RB_BUILTIN_TYPE((VALUE)slot->value) != T_STRING) return Qnil;
    tags = segment_terms_tags(slot->terms);
    if (RB_UNLIKELY(!NIL_P(tags))) {
        tseg_tags_answer answer = look_at_tags(tags, segment, clock);
        if (answer != TSEG_TAGS_CURRENT) return answer == TSEG_TAGS_NEED_TIME ? Qundef : Qnil;
    }
    tseg_memo_hit(read->memo, slot);
    return (VALUE)slot->value;
}

/* Whether its String may enter the memo as it is stored. */
static inline bool is_long(const value_read *read, const tseg_entry *entry)
{
    return entry->value_bytes >= (uint64_t)read->memo->least_bytes + FRAME_HEADER_BYTES;
}

/* Whether that is known before its frame is looked at. */
static inline bool is_looked_for_at_once(const value_read *read, read_kind kind, const tseg_entry *entry)
{
    return kind == READ_FROZEN || (kind == READ_OWN && is_long(read, entry));
}

PART_OF_READ void make_key(void *context, const tseg *segment, tseg_key *key)
{
    value_read *read = context;

    if (read->made) *key = *read->made;
    else segment_key(segment, key, read->key_string);
    read->made = NULL;
}

PART_OF_READ bool ask_time(void *context, tseg_clock *clock, tseg **segment)
{
    return segment_ask_time(((value_read *)context)->self, clock, segment);
}

PART_OF_READ bool take_value(value_read *read, read_kind kind, bool keeps, tseg *segment, const tseg_key *key,
                             const tseg_entry *entry, const tseg_clock *clock)
{
    VALUE kept = Qnil;

    read->kept = read->framed = read->tagged = false;
    read->tags = Qnil;
    if (keeps && is_looked_for_at_once(read, kind, entry)) kept = kept_of(read, kind, segment, key, entry, clock);
    if (kind == READ_BYTES) {
        copy_whole(read, entry);
        return true;
    }
    if (kept == Qnil && !copy_decoded(read, kind, segment, key, entry, clock)) return false;
    /* A short frame may be that of a long String. */
    if (keeps && !is_looked_for_at_once(read, kind, entry) && read->framed)
        kept = kept_of(read, kind, segment, key, entry, clock);
    if (kept == Qundef) return false;
    if (kept == Qnil) return true;
    read->value = kept;
    read->kept = true;
    read->framed = false;
    return true;
}

#define TAKES(name, kind, keeps)                                                                            \
    PART_OF_READ bool take_##name(void *read, tseg *segment, const tseg_key *key,                           \
                                  const tseg_entry *entry, const tseg_clock *clock)                         \
    {                                                                                                       \
        return take_value(read, kind, keeps, segment, key, entry, clock);                                   \
    }
TAKES(bytes, READ_BYTES, false)
TAKES(own, READ_OWN, false)
TAKES(kept, READ_OWN, true)
TAKES(frozen, READ_FROZEN, true)
TAKES(frozen_copy, READ_FROZEN, false)

/* A frame that Ruby decodes: with its token where the memo wants the value. */
__attribute__((noinline))
static VALUE hand_out_frame(VALUE self, read_kind kind, VALUE frame, int type, const tseg_key *key,
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

/* The caller gets a String that shares the kept bytes, or the frozen object itself. */
PART_OF_READ VALUE hand_out(const value_read *read, read_kind kind, const tseg *segment, const tseg_key *key,
                            const tseg_entry *entry)
{
    tseg_token token;
    bool kept = read->kept;

    if (!kept && (read->framed || is_long(read, entry))) token = tseg_token_of(segment, entry);
    if (read->framed) return hand_out_frame(read->self, kind, read->value, read->frame_type, key, &token);
    if (!kept && is_long(read, entry) && !read->tagged)
        kept = segment_keep_string(read->self, key, &token, read->expires_at, read->value);
    if (!kept && is_long(read, entry) && !NIL_P(read->tags))
        kept = segment_keep_tagged_string(read->self, key, &token, read->expires_at, read->value, read->tags);
    if (kind == READ_FROZEN) return rb_obj_freeze(read->value);
    return kept ? segment_share(read->value) : read->value;
}

/* Qnil for a miss. */
PART_OF_READ VALUE read_key(value_read *read, tseg_take_function *take, read_kind kind, bool keeps, tseg *segment,
                            tseg_token *token)
{
    VALUE key_string = read->key_string; /* guarded by itself, so that the rest may stay in registers */
    tseg_entry entry;
    tseg_key key;

    if (keeps) entry = (tseg_entry){0}; /* for the compiler, which cannot see there that it is filled */
    if (tseg_read(&segment, make_key, ask_time, take, read, &key, &entry) != TSEG_OK) return Qnil;
    if (token) *token = tseg_token_of(segment, &entry);
    if (kind != READ_BYTES) tseg_bump(&segment->self->counters[TSEG_COUNT_SERVED]);
    RB_GC_GUARD(key_string);
    if (keeps) return hand_out(read, kind, segment, &key, &entry);
    if (kind == READ_FROZEN && read->framed) return rb_ary_new_from_args(1, rb_obj_freeze(read->value));
    if (kind == READ_OWN && read->framed)
        return hand_out_frame(read->self, kind, read->value, read->frame_type, &key, NULL);
    return read->framed || kind == READ_FROZEN ? rb_obj_freeze(read->value) : read->value;
}

/* All that a read calls in the core becomes part of these. */
#define READS_IN_ONE_PIECE __attribute__((flatten, noinline)) static VALUE
READS_IN_ONE_PIECE get_bytes(VALUE self, tseg *segment, VALUE key)
{
    value_read read = {.self = self, .key_string = key};
    return read_key(&read, take_bytes, READ_BYTES, false, segment, NULL);
}
READS_IN_ONE_PIECE get_own(VALUE self, tseg *segment, VALUE key)
{
    value_read read = {.self = self, .key_string = key};
    return read_key(&read, take_own, READ_OWN, false, segment, NULL);
}
READS_IN_ONE_PIECE get_kept(VALUE self, tseg *segment, VALUE key, VALUE version, tseg_memo *memo)
{
    value_read read = {.self = self, .key_string = key, .memo = memo, .version = version};
    return read_key(&read, take_kept, READ_OWN, true, segment, NULL);
}
/* As one of the two above, of what will be good for so many seconds; else its frame. */
READS_IN_ONE_PIECE get_ahead(VALUE self, tseg *segment, VALUE key, VALUE version, double ahead)
{
    value_read read = {.self = self, .key_string = key, .memo = segment_memo(self), .version = version,
                       .ahead = ahead};

    if (read.memo) return read_key(&read, take_kept, READ_OWN, true, segment, NULL);
    return read_key(&read, take_own, READ_OWN, false, segment, NULL);
}
READS_IN_ONE_PIECE get_frozen(VALUE self, tseg *segment, VALUE key, VALUE version)
{
    value_read read = {.self = self, .key_string = key, .memo = segment_memo(self), .version = version};

    if (read.memo) return read_key(&read, take_frozen, READ_FROZEN, true, segment, NULL);
    return read_key(&read, take_frozen_copy, READ_FROZEN, false, segment, NULL);
}

/* The same with a key that is made already. */
READS_IN_ONE_PIECE get_made(VALUE self, tseg *segment, VALUE key, const tseg_key *made, VALUE version)
{
    value_read read = {.self = self, .key_string = key, .made = made};
    return read_key(&read, take_bytes, READ_BYTES, false, segment, NULL);
}
READS_IN_ONE_PIECE read_made(VALUE self, tseg *segment, VALUE key, const tseg_key *made, VALUE version)
{
    value_read read = {.self = self, .key_string = key, .made = made, .memo = segment_memo(self),
                       .version = version};

    if (read.memo) return read_key(&read, take_kept, READ_OWN, true, segment, NULL);
    return read_key(&read, take_own, READ_OWN, false, segment, NULL);
}
segment_one_read *const segment_get_made = get_made, *const segment_read_made = read_made;

/* Segment#get(key) -> String or nil */
static VALUE segment_get(VALUE self, VALUE key)
{
    tseg *segment = segment_to_read(self);
    return RB_LIKELY(segment) ? get_bytes(self, segment, key) : Qnil;
}

/* Segment#get_late(key) -> String or nil, as get, whether copies are trusted or not */
static VALUE segment_get_late(VALUE self, VALUE key) { return get_bytes(self, segment_current(self), key); }

enum { SAMPLE = 1024 };

__attribute__((noinline)) static void tell_sampler(VALUE self, VALUE key)
{
    VALUE sampler = rb_attr_get(self, rb_intern("@sampler"));

    if (!NIL_P(sampler)) rb_funcall(sampler, rb_intern("sampled"), 1, key);
}

/* One value of SAMPLE that reads find stands for all of them: the sampler gets its key. */
static inline VALUE sampled(VALUE self, VALUE key, VALUE value)
{
    segment_handle *handle = RTYPEDDATA_DATA(self);

    if (RB_LIKELY(NIL_P(value) || ++handle->handed_out % SAMPLE)) return value;
    tell_sampler(self, key);
    RB_GC_GUARD(value);
    return value;
}

/*
 * Segment#read(key, version = nil, ahead = nil) -> the decoded String; or, frozen, a frame or [frame, token]; or nil.
 * With `ahead`, Strings that expire within so many seconds come as frames.
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
    if (!memo) return sampled(self, arguments[0], get_own(self, segment, arguments[0]));
    return sampled(self, arguments[0], get_kept(self, segment, arguments[0], count > 1 ? arguments[1] : Qnil, memo));
}

/* Segment#read_frozen(key, version = nil) -> the value, frozen; or, not frozen, [frame] or [frame, token]; or nil */
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

/* Segment#get_late_with_token(key) -> [String, token] or nil, whether copies are trusted or not */
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
