/* The memo and Ruby's garbage collector; Segment#memo_bytes= and #keep. */
#include "binding_memo.h"

/* The last that is done: what allocates has been done, and a collection in between finds a table in order. */
static bool keep_value(VALUE self, const tseg_key *key, const tseg_token *token, double expires_at, VALUE value,
                       VALUE version, uint64_t bytes)
{
    uintptr_t kept_version = NIL_P(version) ? 0 : (uintptr_t)version;

    if (!tseg_memo_keep(segment_memo(self), key->hash, token, expires_at, (uintptr_t)value, kept_version,
                        (uint32_t)bytes))
        return false;
    RB_OBJ_WRITTEN(self, Qundef, value);
    if (kept_version) RB_OBJ_WRITTEN(self, Qundef, version);
    return true;
}

bool segment_is_wanted(tseg_memo *memo, const tseg_key *key, const tseg_token *token, uint32_t bytes, bool decoded)
{
    if (!tseg_memo_is_read_again(memo, key->hash, token, decoded ? 0 : bytes)) return false;
    if (!memo->failed) return true;
    tseg_memo_try(memo, key->hash, token, bytes, decoded ? SEGMENT_TRIED_DECODED : SEGMENT_TRIED_STRING);
    return false;
}

/* Its code range is looked for once, here: otherwise each reader's String would be scanned anew. */
__attribute__((noinline))
bool segment_keep_string(VALUE self, const tseg_key *key, const tseg_token *token, double expires_at, VALUE string)
{
    tseg_memo *memo = segment_memo(self);
    bool kept;

    if (!memo || RSTRING_LEN(string) < TSEG_MEMO_LEAST_BYTES) return false;
    if (!segment_is_wanted(memo, key, token, (uint32_t)RSTRING_LEN(string), false)) return false;
    if (!tseg_memo_make_room(memo, (uint64_t)RSTRING_LEN(string))) return false;
    rb_enc_str_coderange(string);
    rb_obj_freeze(string);
    kept = keep_value(self, key, token, expires_at, string, Qnil, (uint64_t)RSTRING_LEN(string));
    RB_GC_GUARD(string);
    return kept;
}

/* A frozen String of exactly these bytes: what was decoded may have room to spare, or share a frame's bytes. */
static VALUE copy_of_string(VALUE string)
{
    VALUE copy = rb_enc_str_new(RSTRING_PTR(string), RSTRING_LEN(string), rb_enc_get(string));

    rb_enc_str_coderange(copy);
    RB_GC_GUARD(string);
    return rb_obj_freeze(copy);
}

/* What it takes beside TSEG_MEMO_ENTRY_BYTES: its bytes or, where it lies in its slot (of 40 * 2^n), that. */
static uint64_t bytes_of_string(VALUE string)
{
    uint64_t bytes = (uint64_t)RSTRING_LEN(string), slot_bytes = 40;

    if (bytes >= TSEG_MEMO_LEAST_BYTES) return bytes;
    while (slot_bytes < bytes + 25) slot_bytes *= 2; /* flags, class, length; a 0 at the end */
    return slot_bytes <= 640 ? slot_bytes - 40 : bytes;
}

/*
 * Segment#keep(key, token, value, expires_at, version, bytes) -> whether it is kept. What was decoded of the frame
 * that #read or #read_frozen gave with this token. bytes: nil for a String, of which a copy is kept; else of all that
 * belongs to the value, which is frozen.
 */
static VALUE segment_keep(VALUE self, VALUE key_string, VALUE token_string, VALUE value, VALUE expires_at,
                          VALUE version, VALUE bytes)
{
    segment_handle *handle = segment_handle_of(self);
    tseg_memo *memo = segment_memo(self);
    double end = NIL_P(expires_at) ? INFINITY : NUM2DBL(expires_at);
    uint64_t size;
    tseg_token token;
    tseg_key key;

    Check_Type(key_string, T_STRING);
    if (NIL_P(bytes)) Check_Type(value, T_STRING);
    if (!NIL_P(version)) version = rb_str_new_frozen(StringValue(version));
    size = NIL_P(bytes) ? bytes_of_string(value) : NUM2ULL(bytes);
    if (!NIL_P(version)) size += bytes_of_string(version) + TSEG_MEMO_ENTRY_BYTES;
    /* Special constants cost nothing to decode. */
    if (!memo || memo->failed || RB_SPECIAL_CONST_P(value) || !segment_parse_token(token_string, &token)) return Qfalse;
    if (!handle->attached || handle->attached->file_id != token.file_id) return Qfalse;
    if (!tseg_memo_make_room(memo, size)) return Qfalse;
    if (NIL_P(bytes)) value = copy_of_string(value);
    if (!OBJ_FROZEN(value)) rb_raise(rb_eArgError, "what is kept has to be frozen");
    segment_key(handle->attached, &key, key_string);
    bool kept = keep_value(self, &key, &token, end, value, version, size);
    RB_GC_GUARD(value);
    RB_GC_GUARD(version);
    RB_GC_GUARD(key_string);
    return kept ? Qtrue : Qfalse;
}

void segment_mark_memo(const tseg_memo *memo)
{
    if (memo->failed) return;
    for (const tseg_memo_slot *slot = memo->slots; slot < memo->slots + memo->used; slot++) {
        if (!slot->value) continue;
        rb_gc_mark_movable((VALUE)slot->value);
        if (slot->version) rb_gc_mark_movable((VALUE)slot->version);
    }
}

void segment_update_memo(tseg_memo *memo)
{
    if (memo->failed) return;
    for (tseg_memo_slot *slot = memo->slots; slot < memo->slots + memo->used; slot++) {
        if (!slot->value) continue;
        slot->value = (uintptr_t)rb_gc_location((VALUE)slot->value);
        if (slot->version) slot->version = (uintptr_t)rb_gc_location((VALUE)slot->version);
    }
}

/* Segment#memo_bytes = Integer: forgets what is kept; 0 keeps nothing more */
static VALUE segment_set_memo_bytes(VALUE self, VALUE bytes)
{
    int64_t limit_bytes = NUM2LL(bytes);
    tseg_memo *memo = &segment_handle_of(self)->memo;

    if (limit_bytes < 0) rb_raise(rb_eArgError, "memo_bytes: expected 0 or more, got %"PRIsVALUE, bytes);
    tseg_memo_set_limit(memo, (uint64_t)limit_bytes);
    return bytes;
}

/* Segment#memo_bytes -> Integer */
static VALUE segment_memo_bytes(VALUE self) { return ULL2NUM(segment_handle_of(self)->memo.limit_bytes); }

/* Segment#clear_memo: forgets the kept values; keeps the limits */
static VALUE segment_clear_memo(VALUE self)
{
    tseg_memo *memo = &segment_handle_of(self)->memo;

    tseg_memo_set_limit(memo, memo->limit_bytes);
    return Qnil;
}

void segment_init_memo(void)
{
    rb_define_method(tiercel_segment_class, "clear_memo", segment_clear_memo, 0);
    rb_define_method(tiercel_segment_class, "memo_bytes=", segment_set_memo_bytes, 1);
    rb_define_method(tiercel_segment_class, "memo_bytes", segment_memo_bytes, 0);
    rb_define_method(tiercel_segment_class, "keep", segment_keep, 6);
}
