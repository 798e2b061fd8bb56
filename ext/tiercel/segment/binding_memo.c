/* The memo's values and Ruby's garbage collector; Segment#memo_bytes= and #keep. */
#include "binding.h"

static frame_header header_of(VALUE frame)
{
    frame_header header;
    memcpy(&header, RSTRING_PTR(frame), sizeof(header));
    return header;
}

/* The bytes of the frame's value as a String. A compressed frame has an optional part that gives them. */
static uint32_t decoded_bytes(VALUE frame)
{
    uint32_t bytes = (uint32_t)RSTRING_LEN(frame) - FRAME_HEADER_BYTES;
    size_t part_bytes;
    const uint8_t *part = tseg_part_of((const uint8_t *)RSTRING_PTR(frame), (size_t)RSTRING_LEN(frame),
                                       FRAME_PART_INFLATED_BYTES, &part_bytes);

    if (part && part_bytes >= sizeof(bytes)) memcpy(&bytes, part, sizeof(bytes));
    return bytes;
}

static bool is_string(const frame_header *header)
{
    return header->type >= FRAME_TYPE_STRING_UTF_8 && header->type <= FRAME_TYPE_STRING_ENCODED;
}

/* Returns whether Ruby has to decode the frame's value. If not, a copy suffices. */
static bool is_decoded(const frame_header *header)
{
    return header->type > FRAME_TYPE_STRING_US_ASCII || header->compressor || header->flags;
}

/*
 * Returns whether the frame holds an ActiveSupport::SafeBuffer in Marshal's format. A SafeBuffer is a String whose
 * bytes Ruby can share.
 */
static bool is_safe_buffer(VALUE frame, const frame_header *header)
{
    static const char beginning[] = "\x04\x08IC:\x1e" "ActiveSupport::SafeBuffer\"";
    size_t before = FRAME_HEADER_BYTES + header->parts_bytes;

    return header->type == FRAME_TYPE_MARSHAL && !header->compressor &&
           (size_t)RSTRING_LEN(frame) >= before + sizeof(beginning) - 1 &&
           memcmp(RSTRING_PTR(frame) + before, beginning, sizeof(beginning) - 1) == 0;
}

bool segment_wants_frame(VALUE self, VALUE frame, const tseg_key *key, const tseg_token *token, bool objects)
{
    tseg_memo_candidate candidate = {.hash = key->hash, .token = token};
    tseg_memo *memo = segment_memo(self);
    frame_header header;

    if (!memo || RSTRING_LEN(frame) < FRAME_HEADER_BYTES) return false;
    header = header_of(frame);
    if (!objects && !is_string(&header) && !is_safe_buffer(frame, &header)) return false;
    candidate.bytes = decoded_bytes(frame);
    candidate.decoded = is_decoded(&header);
    /* If the memo keeps short Strings, it also keeps every value that Ruby has to decode. */
    if (memo->least_bytes > TSEG_MEMO_LEAST_BYTES && candidate.bytes < memo->least_bytes) return false;
    return tseg_memo_wants(memo, &candidate);
}

/* Keeping a value: the last step. All allocations come before it, so a garbage collection finds a consistent table. */
static bool keep_value(VALUE self, const tseg_memo_candidate *candidate, double expires_at, VALUE value, VALUE terms,
                       unsigned reads)
{
    uintptr_t kept_terms = NIL_P(terms) ? 0 : (uintptr_t)terms;

    if (!tseg_memo_keep(segment_memo(self), candidate, expires_at, (uintptr_t)value, kept_terms, reads)) return false;
    RB_OBJ_WRITTEN(self, Qundef, value);
    if (kept_terms) RB_OBJ_WRITTEN(self, Qundef, terms);
    return true;
}

/*
 * The memory of a String beyond TSEG_MEMO_ENTRY_BYTES. A long String has its bytes outside its object. A short String
 * has them within the object, whose slot in Ruby's heap has 40 * 2^n bytes.
 */
static uint64_t bytes_of_string(VALUE string)
{
    uint64_t bytes = (uint64_t)RSTRING_LEN(string), slot_bytes = 40;

    if (bytes >= TSEG_MEMO_LEAST_BYTES) return bytes;
    while (slot_bytes < bytes + 25) slot_bytes *= 2; /* 25: flags, class, length, and a 0 at the end */
    return slot_bytes <= 640 ? slot_bytes - 40 : bytes;
}

static uint64_t bytes_of_terms(VALUE terms)
{
    uint64_t bytes = TSEG_MEMO_ENTRY_BYTES;

    if (NIL_P(terms)) return 0;
    if (RB_TYPE_P(terms, T_STRING)) return bytes + bytes_of_string(terms);
    if (!NIL_P(RARRAY_AREF(terms, 0))) bytes += TSEG_MEMO_ENTRY_BYTES + bytes_of_string(RARRAY_AREF(terms, 0));
    return bytes + TSEG_MEMO_ENTRY_BYTES + bytes_of_string(RARRAY_AREF(terms, 1));
}

/* Scans the String for its code range once; otherwise Ruby would scan the String of each reader. */
__attribute__((noinline))
bool segment_keep_string(VALUE self, const tseg_key *key, const tseg_token *token, double expires_at, VALUE string,
                         VALUE tags)
{
    tseg_memo_candidate candidate = {key->hash, token, (uint64_t)RSTRING_LEN(string), false};
    tseg_memo *memo = segment_memo(self);
    VALUE terms = Qnil;
    unsigned reads;
    bool kept;

    if (!memo || candidate.bytes < memo->least_bytes) return false;
    if (NIL_P(tags) && !tseg_memo_wants(memo, &candidate)) return false;
    if (!NIL_P(tags)) terms = rb_obj_freeze(rb_assoc_new(Qnil, tags));
    candidate.bytes += bytes_of_terms(terms);
    reads = tseg_memo_admit(memo, &candidate);
    if (!reads) return false;
    rb_enc_str_coderange(string);
    rb_obj_freeze(string);
    kept = keep_value(self, &candidate, expires_at, string, terms, reads);
    RB_GC_GUARD(string);
    RB_GC_GUARD(terms);
    return kept;
}

/* A frozen copy without spare room. A decoded String may have spare room, or share the bytes of its frame. */
static VALUE copy_of_string(VALUE string)
{
    VALUE copy = rb_enc_str_new(RSTRING_PTR(string), RSTRING_LEN(string), rb_enc_get(string));

    rb_enc_str_coderange(copy);
    RB_GC_GUARD(string);
    return rb_obj_freeze(copy);
}

/* The version, with the frame's part TAGS if it has one. */
static VALUE terms_of(VALUE version, VALUE frame)
{
    size_t bytes;
    const uint8_t *part = tseg_part_of((const uint8_t *)RSTRING_PTR(frame), (size_t)RSTRING_LEN(frame), FRAME_PART_TAGS,
                                       &bytes);
    VALUE tags = part ? rb_obj_freeze(rb_str_new((const char *)part, (long)bytes)) : Qnil;

    if (!NIL_P(version)) version = rb_str_new_frozen(StringValue(version));
    return part ? rb_obj_freeze(rb_assoc_new(version, tags)) : version;
}

/*
 * Segment#keep(key, token, value, frame, version, bytes) -> whether the memo keeps the value. The caller has decoded
 * the value from the frame that #read or #read_frozen returned with this token. version: the frame's version, or nil.
 * bytes: nil for a String, which is copied; otherwise the memory of the frozen value.
 */
static VALUE segment_keep(VALUE self, VALUE key_string, VALUE token_string, VALUE value, VALUE frame, VALUE version,
                          VALUE bytes)
{
    tseg_handle *handle = segment_handle_of(self);
    tseg_memo *memo = segment_memo(self);
    tseg_memo_candidate candidate = {0};
    frame_header header;
    unsigned reads;
    tseg_token token;
    tseg_key key;
    bool kept;

    Check_Type(key_string, T_STRING);
    Check_Type(frame, T_STRING);
    if (NIL_P(bytes)) Check_Type(value, T_STRING);
    else if (!OBJ_FROZEN(value)) rb_raise(rb_eArgError, "what is kept has to be frozen");
    /* Special constants need no memory, and decoding them costs nothing. */
    if (!memo || RB_SPECIAL_CONST_P(value) || !segment_parse_token(token_string, &token)) return Qfalse;
    if (RSTRING_LEN(frame) < FRAME_HEADER_BYTES) return Qfalse;
    header = header_of(frame);
    candidate.decoded = is_decoded(&header);
    version = terms_of(version, frame);
    candidate.bytes = (NIL_P(bytes) ? bytes_of_string(value) : NUM2ULL(bytes)) + bytes_of_terms(version);
    if (!handle->attached || handle->attached->file_id != token.file_id) return Qfalse;
    segment_key(handle->attached, &key, key_string);
    candidate.hash = key.hash;
    candidate.token = &token;
    reads = tseg_memo_admit(memo, &candidate);
    if (!reads) return Qfalse;
    if (NIL_P(bytes)) value = copy_of_string(value);
    kept = keep_value(self, &candidate, header.expires_at, value, version, reads);
    RB_GC_GUARD(value);
    RB_GC_GUARD(version);
    RB_GC_GUARD(key_string);
    return kept ? Qtrue : Qfalse;
}

void segment_mark_memo(const tseg_memo *memo)
{
    for (const tseg_memo_slot *slot = memo->slots; slot < memo->slots + memo->used; slot++) {
        if (!slot->value) continue;
        rb_gc_mark_movable((VALUE)slot->value);
        if (slot->terms) rb_gc_mark_movable((VALUE)slot->terms);
    }
}

void segment_update_memo(tseg_memo *memo)
{
    for (tseg_memo_slot *slot = memo->slots; slot < memo->slots + memo->used; slot++) {
        if (!slot->value) continue;
        slot->value = (uintptr_t)rb_gc_location((VALUE)slot->value);
        if (slot->terms) slot->terms = (uintptr_t)rb_gc_location((VALUE)slot->terms);
    }
}

/*
 * Segment#memo_bytes = Integer or nil: drops all kept values and sets the memo's bound. 0: the memo keeps nothing. nil:
 * the memo keeps long values, within a share of the machine's budget.
 */
static VALUE segment_set_memo_bytes(VALUE self, VALUE bytes)
{
    tseg_handle *handle = segment_handle_of(self);
    int64_t limit_bytes = NIL_P(bytes) ? 0 : NUM2LL(bytes);

    if (limit_bytes < 0) rb_raise(rb_eArgError, "memo_bytes: expected 0 or more, got %"PRIsVALUE, bytes);
    handle->shares_budget = NIL_P(bytes);
    tseg_memo_set_limit(&handle->memo, (uint64_t)limit_bytes,
                        NIL_P(bytes) ? TSEG_MEMO_LONG_BYTES : TSEG_MEMO_LEAST_BYTES);
    tseg_handle_share_budget(handle);
    return bytes;
}

/* Segment#memo_bytes -> Integer */
static VALUE segment_memo_bytes(VALUE self) { return ULL2NUM(segment_handle_of(self)->memo.limit_bytes); }

/* Segment#clear_memo: drops the kept values, and keeps the bound */
static VALUE segment_clear_memo(VALUE self)
{
    tseg_memo_clear(&segment_handle_of(self)->memo);
    return Qnil;
}

/* @private Segment#share_budget -> Integer: counts the processes now, and adjusts memo_bytes */
static VALUE segment_share_budget_now(VALUE self)
{
    tseg_handle_share_budget(segment_handle_of(self));
    return segment_memo_bytes(self);
}

void segment_init_memo(void)
{
    rb_define_method(tiercel_segment_class, "clear_memo", segment_clear_memo, 0);
    rb_define_method(tiercel_segment_class, "memo_bytes=", segment_set_memo_bytes, 1);
    rb_define_method(tiercel_segment_class, "memo_bytes", segment_memo_bytes, 0);
    rb_define_method(tiercel_segment_class, "keep", segment_keep, 6);
    rb_define_private_method(tiercel_segment_class, "share_budget", segment_share_budget_now, 0);
}
