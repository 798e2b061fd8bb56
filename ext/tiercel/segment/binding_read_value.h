/*
 * The value of an entry that a read has found: its frame, a decoded String, or the value that the memo keeps.
 *
 * A read copies before it knows whether the entry is intact; so nothing here runs Ruby code. The functions are parts of
 * the reads in binding_read.c, and the compiler makes a version of them for each read.
 */
#ifndef TIERCEL_SEGMENT_BINDING_READ_VALUE_H
#define TIERCEL_SEGMENT_BINDING_READ_VALUE_H

#include "../frame_layout.h"
#include "binding_memo.h"
#include "read.h"
#include "tags.h"

/* Encoding indexes that are fixed in CRuby. */
enum { ENCODING_BINARY = 0, ENCODING_UTF_8 = 1, ENCODING_US_ASCII = 2 };
static const int encoding_of_type[] = {ENCODING_BINARY, ENCODING_UTF_8, ENCODING_BINARY, ENCODING_US_ASCII};

#define PART_OF_READ static inline __attribute__((always_inline))

/*
 * The result of a read: the stored bytes; a value that the caller may change; a frozen value; the stored bytes for a
 * caller of the store. READ_BYTES alone is not counted as served.
 */
typedef enum { READ_BYTES, READ_VALUE, READ_FROZEN, READ_SERVED_BYTES } read_kind;

/* One read: its arguments, then the value that it has taken from the entry. */
typedef struct {
    VALUE self, key_string;
    const tseg_key *made; /* the key, if the caller has made it; for the first attempt alone. Or NULL */
    tseg_memo *memo;      /* NULL: the segment has no memo */
    VALUE version;        /* the wanted version, or nil */
    VALUE value;          /* a copy of the entry's value, or the value in the memo */
    VALUE tags;           /* the frame's part TAGS if the memo wants the value, or nil */
    bool kept;            /* `value` is in the memo */
    bool tagged;          /* `value` is a String whose tags are current */
    int frame_type;       /* the frame's type; 0 for bytes that are no frame */
    bool framed;          /* `value` is a frame, which Ruby decodes */
    double expires_at;    /* the end of a plain String's frame */
} value_read;

PART_OF_READ void copy_whole(value_read *read, const tseg_entry *entry)
{
    tseg_prefetch_value(entry);
    read->value = rb_str_new(NULL, entry->value_bytes);
    tseg_copy_value(entry, RSTRING_PTR(read->value), 0, entry->value_bytes);
}

/* Ruby reads longer parts, which have more than 100 tags of the usual length. */
enum { TAGS_MOST_BYTES = 4096 };

static bool wants_tagged(tseg_memo *memo, const tseg *segment, const tseg_key *key, const tseg_entry *entry)
{
    tseg_token token = tseg_token_of(segment, entry);
    tseg_memo_candidate candidate = {key->hash, &token, entry->value_bytes, false};

    return candidate.bytes >= memo->least_bytes && tseg_memo_wants(memo, &candidate);
}

/*
 * Copies the payload of a plain String that has tags, and checks the tags. The processor fetches their generations
 * while this function copies the payload.
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
    if (!(read->expires_at > clock->now)) return TSEG_TAGS_OUTDATED;
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

/*
 * Copies the payload of a plain String that has not expired, else the whole frame. Returns false if it needs the time.
 */
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
    read->framed = !type || !(read->expires_at > clock->now);
    if (read->framed) {
        if (kind == READ_VALUE && !type && !frame_is_bare(header[0])) {
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

/* Whether a value in the memo has the wanted version. A value without a version matches every wanted version. */
static inline bool has_version(const tseg_memo_slot *slot, VALUE wanted)
{
    VALUE version = segment_terms_version(slot->terms);

    if (RB_LIKELY(NIL_P(version) || NIL_P(wanted))) return true;
    return RB_TYPE_P(wanted, T_STRING) && rb_str_hash_cmp(version, wanted) == 0;
}

__attribute__((noinline))
static tseg_tags_answer check_kept_tags(VALUE part, tseg *segment, const tseg_clock *clock)
{
    tseg_tags tags;
    tseg_tags_answer answer;

    tseg_tags_begin(&tags, segment, (const uint8_t *)RSTRING_PTR(part), (size_t)RSTRING_LEN(part));
    answer = tseg_tags_finish(&tags, segment, clock);
    RB_GC_GUARD(part);
    return answer;
}

/* The memo's value of this entry. Qnil: the memo has none that this caller may get. Qundef: the call needs the time. */
PART_OF_READ VALUE memo_value(const value_read *read, read_kind kind, tseg *segment, const tseg_key *key,
                           const tseg_entry *entry, const tseg_clock *clock)
{
    tseg_token token = tseg_token_of(segment, entry);
    tseg_memo_slot *slot = tseg_memo_find(read->memo, key->hash, &token);
    VALUE tags;

    if (!slot) return Qnil;
    if (!tseg_knows_time(clock, slot->expires_at)) return Qundef;
    if (slot->expires_at != INFINITY && !(slot->expires_at > clock->now)) return Qnil;
    if (!has_version(slot, read->version)) return Qnil;
    if (kind == READ_VALUE && RB_BUILTIN_TYPE((VALUE)slot->value) != T_STRING) return Qnil;
    tags = segment_terms_tags(slot->terms);
    if (RB_UNLIKELY(!NIL_P(tags))) {
        tseg_tags_answer answer = check_kept_tags(tags, segment, clock);
        if (answer != TSEG_TAGS_CURRENT) return answer == TSEG_TAGS_NEED_TIME ? Qundef : Qnil;
    }
    tseg_memo_hit(read->memo, slot);
    return (VALUE)slot->value;
}

/* Whether the entry's String is long enough for the memo. */
static inline bool is_long(const value_read *read, const tseg_entry *entry)
{
    return entry->value_bytes >= (uint64_t)read->memo->least_bytes + FRAME_HEADER_BYTES;
}

/* Whether the read looks into the memo before it looks at the frame. */
static inline bool tries_memo_first(const value_read *read, read_kind kind, const tseg_entry *entry)
{
    return kind == READ_FROZEN || (kind == READ_VALUE && is_long(read, entry));
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

/* Takes the value of a found entry. Returns false if it needs the time. */
PART_OF_READ bool take_value(value_read *read, read_kind kind, bool keeps, tseg *segment, const tseg_key *key,
                             const tseg_entry *entry, const tseg_clock *clock)
{
    VALUE kept = Qnil;

    read->kept = read->framed = read->tagged = false;
    read->tags = Qnil;
    if (keeps && tries_memo_first(read, kind, entry)) kept = memo_value(read, kind, segment, key, entry, clock);
    if (kind == READ_BYTES) {
        copy_whole(read, entry);
        return true;
    }
    if (kept == Qnil && !copy_decoded(read, kind, segment, key, entry, clock)) return false;
    /* A short frame may hold a compressed long String. */
    if (keeps && !tries_memo_first(read, kind, entry) && read->framed)
        kept = memo_value(read, kind, segment, key, entry, clock);
    if (kept == Qundef) return false;
    if (kept == Qnil) return true;
    read->value = kept;
    read->kept = true;
    read->framed = false;
    return true;
}

/* The callbacks of tseg_read, one for each kind of read. keeps: with a memo. */
#define DEFINE_TAKE(name, kind, keeps)                                                                      \
    PART_OF_READ bool take_##name(void *read, tseg *segment, const tseg_key *key,                           \
                                  const tseg_entry *entry, const tseg_clock *clock)                         \
    {                                                                                                       \
        return take_value(read, kind, keeps, segment, key, entry, clock);                                   \
    }
DEFINE_TAKE(bytes, READ_BYTES, false)
DEFINE_TAKE(value_copy, READ_VALUE, false)
DEFINE_TAKE(kept, READ_VALUE, true)
DEFINE_TAKE(frozen, READ_FROZEN, true)
DEFINE_TAKE(frozen_copy, READ_FROZEN, false)

#endif
