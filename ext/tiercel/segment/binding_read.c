#include "binding.h"

/*
 * Reads. A read allocates nothing but its result: a String, a String that shares the bytes of a value in the memo, or a
 * frame that Ruby decodes. If the memo wants the decoded value, the result is the frame with its token.
 *
 * A read copies before it knows whether the entry is intact, so the code that copies runs no Ruby code. The compiler
 * makes a version of this code (PART_OF_READ) for each kind of read.
 */

/* Encoding indexes that are fixed in CRuby. */
enum { ENCODING_BINARY = 0, ENCODING_UTF_8 = 1, ENCODING_US_ASCII = 2 };
static const int encoding_of_type[] = {ENCODING_BINARY, ENCODING_UTF_8, ENCODING_BINARY, ENCODING_US_ASCII};

#define PART_OF_READ static inline __attribute__((always_inline))

/*
 * The result of a read: the stored bytes; a value that the caller may change; a frozen value; the stored bytes for a
 * caller of the store. READ_BYTES alone (tags, leases) is counted neither as served nor as a miss.
 */
typedef enum { READ_BYTES, READ_VALUE, READ_FROZEN, READ_SERVED_BYTES } read_kind;

/* One read: its arguments, then the value that it has found. */
typedef struct {
    VALUE self, key_string;
    const tseg_key *made; /* the key for the first attempt, if the caller has made it; else NULL */
    tseg_memo *memo;      /* NULL: the segment has no memo */
    VALUE version;        /* the wanted version, or nil */
    VALUE value;          /* a copy of the entry's value, or the value in the memo */
    VALUE tags;           /* the frame's part TAGS if the memo wants the value, or nil */
    bool kept;            /* `value` is in the memo */
    bool has_parts;       /* `value` is a String whose frame has a version or tags, which suit the read */
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

/* Returns whether the entry's String is long enough for the memo. */
static inline bool is_long(const value_read *read, const tseg_entry *entry)
{
    return entry->value_bytes >= (uint64_t)read->memo->least_bytes + FRAME_HEADER_BYTES;
}

/* Ruby reads longer parts, which have more than 100 tags of the usual length. */
enum { TAGS_MOST_BYTES = 4096 };

static bool wants_tagged(tseg_memo *memo, const tseg *segment, const tseg_key *key, const tseg_entry *entry)
{
    tseg_token token = tseg_token_of(segment, entry);
    tseg_memo_candidate candidate = {key->hash, &token, entry->value_bytes, false};

    return candidate.bytes >= memo->least_bytes && tseg_memo_wants(memo, &candidate);
}

/* Returns whether the part VERSION has the wanted version. Ruby compares versions in other encodings. */
static bool is_wanted(const uint8_t *version, size_t bytes, VALUE wanted)
{
    return RB_TYPE_P(wanted, T_STRING) && bytes == (size_t)RSTRING_LEN(wanted) + 1 &&
           version[0] <= FRAME_TYPE_STRING_US_ASCII && encoding_of_type[version[0]] == rb_enc_get_index(wanted) &&
           memcmp(version + 1, RSTRING_PTR(wanted), bytes - 1) == 0;
}

/*
 * Copies the payload of a plain String that has a version, tags, or both, and checks them. The processor fetches the
 * tags' generations while this function copies the payload.
 */
__attribute__((noinline))
static tseg_tags_answer copy_with_parts(value_read *read, tseg *segment, const tseg_key *key, const tseg_entry *entry,
                                        const tseg_clock *clock, int type, uint32_t parts_bytes)
{
    uint8_t parts[TAGS_MOST_BYTES];
    uint32_t from = FRAME_HEADER_BYTES + parts_bytes;
    const uint8_t *part, *version;
    size_t part_bytes = 0, version_bytes = 0;
    tseg_tags tags;

    if (parts_bytes > TAGS_MOST_BYTES) return TSEG_TAGS_OUTDATED;
    tseg_copy_value(entry, parts, FRAME_HEADER_BYTES, parts_bytes);
    part = tseg_part_among(parts, parts_bytes, FRAME_PART_TAGS, &part_bytes);
    version = tseg_part_among(parts, parts_bytes, FRAME_PART_VERSION, &version_bytes);
    if ((part ? part_bytes + FRAME_PART_HEADER_BYTES : 0) + (version ? version_bytes + FRAME_PART_HEADER_BYTES : 0) !=
        parts_bytes) return TSEG_TAGS_OUTDATED;
    /* The memo keeps a version with a value that Ruby has decoded. */
    if (version && ((read->memo && is_long(read, entry)) || !is_wanted(version, version_bytes, read->version)))
        return TSEG_TAGS_OUTDATED;
    tseg_tags_begin(&tags, segment, part, part ? part_bytes : 0);
    read->value = rb_str_new(NULL, entry->value_bytes - from);
    tseg_copy_value(entry, RSTRING_PTR(read->value), from, entry->value_bytes - from);
    if (encoding_of_type[type]) ENCODING_SET_INLINED(read->value, encoding_of_type[type]);
    if (part && read->memo && wants_tagged(read->memo, segment, key, entry))
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
    uint32_t parts_bytes = 0;
    int type = 0;

    if (entry->value_bytes >= FRAME_HEADER_BYTES) {
        for (int i = 0; i < FRAME_HEADER_BYTES / 8; i++) header[i] = tseg_load(entry->value + i);
        type = frame_string(header, entry->value_bytes, &parts_bytes, &read->expires_at);
        if (parts_bytes && kind != READ_VALUE) type = 0;
    }
    if (type && !tseg_knows_time(clock, read->expires_at)) return false;
    read->framed = !type || !(read->expires_at > clock->now);
    if (parts_bytes && !read->framed) {
        tseg_tags_answer answer = copy_with_parts(read, segment, key, entry, clock, type, parts_bytes);
        if (answer == TSEG_TAGS_NEED_TIME) return false;
        if ((read->has_parts = answer == TSEG_TAGS_CURRENT)) return true;
        read->framed = true;
    }
    if (read->framed) {
        read->frame_type = (header[0] & 0xff) == FRAME_MAGIC ? (int)(header[0] >> FRAME_TYPE_SHIFT & 0xff) : 0;
        copy_whole(read, entry);
        return true;
    }
    tseg_prefetch_value(entry);
    read->value = rb_str_new(NULL, entry->value_bytes - FRAME_HEADER_BYTES);
    tseg_copy_value(entry, RSTRING_PTR(read->value), FRAME_HEADER_BYTES, entry->value_bytes - FRAME_HEADER_BYTES);
    if (encoding_of_type[type]) ENCODING_SET_INLINED(read->value, encoding_of_type[type]);
    return true;
}

/*
 * Returns whether a value in the memo has the wanted version. A value without a version matches every wanted version.
 */
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

/* Returns whether the read looks into the memo before it looks at the frame. */
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

/* Reads the value of a found entry, or finds it in the memo. Returns false if it needs the time. */
PART_OF_READ bool read_value(value_read *read, read_kind kind, bool keeps, tseg *segment, const tseg_key *key,
                             const tseg_entry *entry, const tseg_clock *clock)
{
    VALUE kept = Qnil;

    read->kept = read->framed = read->has_parts = false;
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
#define DEFINE_READ(name, kind, keeps)                                                                      \
    PART_OF_READ bool read_##name(void *read, tseg *segment, const tseg_key *key,                           \
                                  const tseg_entry *entry, const tseg_clock *clock)                         \
    {                                                                                                       \
        return read_value(read, kind, keeps, segment, key, entry, clock);                                   \
    }
DEFINE_READ(bytes, READ_BYTES, false)
DEFINE_READ(value_copy, READ_VALUE, false)
DEFINE_READ(kept, READ_VALUE, true)
DEFINE_READ(frozen, READ_FROZEN, true)
DEFINE_READ(frozen_copy, READ_FROZEN, false)

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
    if (!kept && is_long(read, entry) && (!read->has_parts || !NIL_P(read->tags)))
        kept = segment_keep_string(read->self, key, &token, read->expires_at, read->value, read->tags);
    if (kind == READ_FROZEN) return rb_obj_freeze(read->value);
    return kept ? segment_share(read->value) : read->value;
}

PART_OF_READ VALUE finished(const value_read *read, read_kind kind, bool keeps, const tseg *segment,
                            const tseg_key *key, const tseg_entry *entry)
{
    if (keeps) return result_of(read, kind, segment, key, entry);
    if (kind == READ_FROZEN && read->framed) return rb_ary_new_from_args(1, rb_obj_freeze(read->value));
    if (kind == READ_VALUE && read->framed)
        return frame_result(read->self, kind, read->value, read->frame_type, key, NULL);
    return read->framed || kind == READ_FROZEN ? rb_obj_freeze(read->value) : read->value;
}

__attribute__((noinline))
void segment_notify_observer(VALUE self, VALUE key, uint64_t hash, long bytes, double expires_at)
{
    VALUE observer = rb_attr_get(self, rb_intern("@observer")), number = ULL2NUM(SEGMENT_MIXED(hash) >> 11);

    if (NIL_P(observer)) return;
    rb_funcall(observer, rb_intern("sampled"), 4, key, number, LONG2NUM(bytes), DBL2NUM(expires_at));
}

/* The observer runs Ruby code, which may close the segment. So the result is complete before the observer runs. */
PART_OF_READ VALUE sampled_result(const value_read *read, read_kind kind, bool keeps, const tseg *segment,
                                  const tseg_key *key, const tseg_entry *entry)
{
    VALUE key_string = read->key_string;
    double expires_at = read->kept ? NAN : read->expires_at;
    volatile VALUE result = finished(read, kind, keeps, segment, key, entry);

    if (read->framed) expires_at = segment_expiry_in(read->value, entry->expires_at);
    segment_notify_observer(read->self, key_string, key->hash, (long)entry->value_bytes, expires_at);
    return result;
}

/* Reads one key. Returns Qnil for a miss. */
PART_OF_READ VALUE read_key(value_read *read, tseg_value_function *callback, read_kind kind, bool keeps, tseg *segment,
                            tseg_token *token)
{
    VALUE key_string = read->key_string; /* a separate variable for RB_GC_GUARD, so that *read stays in registers */
    tseg_entry entry;
    tseg_key key;

    if (keeps) entry = (tseg_entry){0}; /* silences a warning: the compiler cannot see that tseg_read fills it */
    if (tseg_read(&segment, make_key, ask_time, callback, read, &key, &entry) != TSEG_OK) {
        if (kind == READ_BYTES) return Qnil;
        tseg_bump(&segment->self->counters[TSEG_COUNT_MISSES]);
        if (SEGMENT_SAMPLES(read->self, key.hash)) segment_notify_observer(read->self, key_string, key.hash, -1, 0.0);
        return Qnil;
    }
    if (token) *token = tseg_token_of(segment, &entry);
    if (kind != READ_BYTES) tseg_bump(&segment->self->counters[TSEG_COUNT_SERVED]);
    RB_GC_GUARD(key_string);
    if (kind == READ_BYTES || !SEGMENT_SAMPLES(read->self, key.hash))
        return finished(read, kind, keeps, segment, &key, &entry);
    return sampled_result(read, kind, keeps, segment, &key, &entry);
}

/* The compiler inlines everything that these functions call. */
#define READS_IN_ONE_PIECE __attribute__((flatten, noinline)) static VALUE
READS_IN_ONE_PIECE get_bytes(VALUE self, tseg *segment, VALUE key)
{
    value_read read = {.self = self, .key_string = key};
    return read_key(&read, read_bytes, READ_SERVED_BYTES, false, segment, NULL);
}
READS_IN_ONE_PIECE get_frozen(VALUE self, tseg *segment, VALUE key, VALUE version)
{
    value_read read = {.self = self, .key_string = key, .memo = segment_memo(self), .version = version};

    if (read.memo) return read_key(&read, read_frozen, READ_FROZEN, true, segment, NULL);
    return read_key(&read, read_frozen_copy, READ_FROZEN, false, segment, NULL);
}

/* A read with a tseg_key that the caller has made. */
typedef VALUE one_read(VALUE self, tseg *segment, VALUE key, const tseg_key *made, VALUE version);

/* Like get, with a tseg_key that the caller has made. */
READS_IN_ONE_PIECE get_made(VALUE self, tseg *segment, VALUE key, const tseg_key *made, VALUE version)
{
    value_read read = {.self = self, .key_string = key, .made = made};
    return read_key(&read, read_bytes, READ_BYTES, false, segment, NULL);
}
READS_IN_ONE_PIECE get_made_served(VALUE self, tseg *segment, VALUE key, const tseg_key *made, VALUE version)
{
    value_read read = {.self = self, .key_string = key, .made = made};
    return read_key(&read, read_bytes, READ_SERVED_BYTES, false, segment, NULL);
}
READS_IN_ONE_PIECE read_made(VALUE self, tseg *segment, VALUE key, const tseg_key *made, VALUE version)
{
    value_read read = {.self = self, .key_string = key, .made = made, .memo = segment_memo(self),
                       .version = version};

    if (read.memo) return read_key(&read, read_kept, READ_VALUE, true, segment, NULL);
    return read_key(&read, read_value_copy, READ_VALUE, false, segment, NULL);
}

/* Segment#get(key, late = false) -> String or nil. late: reads even if this Segment does not trust its copies */
static VALUE segment_get(int count, VALUE *arguments, VALUE self)
{
    tseg *segment = count > 1 && RTEST(arguments[1]) ? segment_current(self) : segment_to_read(self);

    rb_check_arity(count, 1, 2);
    return RB_LIKELY(segment) ? get_bytes(self, segment, arguments[0]) : Qnil;
}

/* Segment#read(key, version = nil) -> the decoded String, or a frozen frame, or a frozen [frame, token], or nil */
static VALUE segment_read(int count, VALUE *arguments, VALUE self)
{
    tseg *segment = segment_to_read(self);

    rb_check_arity(count, 1, 2);
    if (RB_UNLIKELY(!segment)) return Qnil;
    return read_made(self, segment, arguments[0], NULL, count > 1 ? arguments[1] : Qnil);
}

/* Segment#read_frozen(key, version = nil) -> the frozen value, or [frame] or [frame, token] (not frozen), or nil */
static VALUE segment_read_frozen(int count, VALUE *arguments, VALUE self)
{
    tseg *segment = segment_to_read(self);

    rb_check_arity(count, 1, 2);
    if (RB_UNLIKELY(!segment)) return Qnil;
    return get_frozen(self, segment, arguments[0], count > 1 ? arguments[1] : Qnil);
}

/* Segment#get_with_token(key, late = false) -> [String, token] or nil. late: see #get */
static VALUE segment_get_with_token(int count, VALUE *arguments, VALUE self)
{
    value_read read = {.self = self};
    tseg_token token;
    tseg *segment;
    VALUE string;

    rb_check_arity(count, 1, 2);
    read.key_string = arguments[0];
    segment = count > 1 && RTEST(arguments[1]) ? segment_current(self) : segment_to_read(self);
    string = segment ? read_key(&read, read_bytes, READ_BYTES, false, segment, &token) : Qnil;
    return NIL_P(string) ? Qnil : rb_assoc_new(string, segment_token_string(&token));
}

/* Segment#sample_below = share of the keys whose reads go to the observer, 0.0 to 0.5 */
static VALUE segment_set_sample_below(VALUE self, VALUE share)
{
    double part = NUM2DBL(share);

    segment_handle_in(self)->sample_below = part > 0 ? (uint64_t)(ldexp(part < 0.5 ? part : 0.5, 53)) << 11 : 0;
    return share;
}

/* Reads of many keys, a batch at a time: the core prefetches the memory of a batch. */
enum { READ_BATCH = 32 };

typedef struct {
    VALUE self;
    tseg *segment;
    uint64_t unmapped;          /* tseg_unmapped when the keys were made */
    tseg_key keys[READ_BATCH];  /* `bytes` is NULL for keys that are not Strings */
} read_batch;

/* Returns whether the segment is still current. Ruby code may have run between two reads. */
static inline bool is_current(const read_batch *batch)
{
    const tseg_handle *handle = segment_handle_in(batch->self);

    return handle->attached == batch->segment && batch->unmapped == tseg_unmapped && !tseg_forked() &&
           !tseg_is_retired(batch->segment);
}

static inline bool is_made_of(const tseg_key *key, VALUE string)
{
    return RB_TYPE_P(string, T_STRING) && key->bytes == (const uint8_t *)RSTRING_PTR(string) &&
           key->count == (uint64_t)RSTRING_LEN(string);
}

static void make_batch(read_batch *batch, VALUE keys, long from)
{
    unsigned count = 0;

    batch->segment = segment_current(batch->self);
    batch->unmapped = tseg_unmapped;
    for (; count < READ_BATCH && from + count < RARRAY_LEN(keys); count++) {
        VALUE key = RARRAY_AREF(keys, from + count);
        if (!RB_TYPE_P(key, T_STRING)) break; /* the read of this key raises */
        segment_key(batch->segment, batch->keys + count, key);
    }
    tseg_prefetch_reads(batch->segment, segment_memo(batch->self), batch->keys, count);
    for (; count < READ_BATCH; count++) batch->keys[count].bytes = NULL;
}

/* frames: an Array, or nil. The Array gets the keys whose values Ruby has to decode. versions: an Array, or nil. */
static VALUE read_many(VALUE self, VALUE keys, one_read *read_one, VALUE frames, VALUE versions)
{
    read_batch batch = {.self = self};
    VALUE found;

    Check_Type(keys, T_ARRAY);
    found = rb_hash_new_capa(RARRAY_LEN(keys));
    for (long i = 0; i < RARRAY_LEN(keys); i++) {
        if (i % READ_BATCH == 0 && !segment_to_read(self)) break; /* the handle does not trust its copies any more */
        if (i % READ_BATCH == 0) make_batch(&batch, keys, i);
        VALUE key = RARRAY_AREF(keys, i), version = NIL_P(versions) ? Qnil : rb_ary_entry(versions, i), value;
        const tseg_key *made = batch.keys + i % READ_BATCH;
        bool current = is_current(&batch);
        value = read_one(self, current ? batch.segment : segment_current(self), key,
                         current && is_made_of(made, key) ? made : NULL, version);
        if (NIL_P(value)) continue;
        rb_hash_aset(found, key, value);
        if (OBJ_FROZEN(value) && !NIL_P(frames)) rb_ary_push(frames, key);
    }
    RB_GC_GUARD(versions);
    return found;
}

/* Segment#get_multi(keys, served = false) -> Hash. served: whether the store's statistics count these reads */
static VALUE segment_get_multi(int count, VALUE *arguments, VALUE self)
{
    rb_check_arity(count, 1, 2);
    return read_many(self, arguments[0], count > 1 && RTEST(arguments[1]) ? get_made_served : get_made, Qnil, Qnil);
}

/*
 * Segment#read_multi(keys, frames = nil, versions = nil) -> Hash of the results of #read. Adds the keys whose values
 * Ruby has to decode to the Array `frames`.
 */
static VALUE segment_read_multi(int count, VALUE *arguments, VALUE self)
{
    VALUE frames = count > 1 ? arguments[1] : Qnil, versions = count > 2 ? arguments[2] : Qnil;

    rb_check_arity(count, 1, 3);
    if (!NIL_P(frames)) Check_Type(frames, T_ARRAY);
    if (!NIL_P(versions)) Check_Type(versions, T_ARRAY);
    return read_many(self, arguments[0], read_made, frames, versions);
}

void segment_init_read(void)
{
    rb_define_method(tiercel_segment_class, "sample_below=", segment_set_sample_below, 1);
    rb_define_method(tiercel_segment_class, "get", segment_get, -1);
    rb_define_method(tiercel_segment_class, "read", segment_read, -1);
    rb_define_method(tiercel_segment_class, "read_frozen", segment_read_frozen, -1);
    rb_define_method(tiercel_segment_class, "get_with_token", segment_get_with_token, -1);
    rb_define_method(tiercel_segment_class, "get_multi", segment_get_multi, -1);
    rb_define_method(tiercel_segment_class, "read_multi", segment_read_multi, -1);
}
