/* The memo and Ruby's garbage collector; Segment#memo_bytes= and #memo_bytes. */
#include "binding_memo.h"

/*
 * Its code range is looked for once, here: otherwise each reader's String would be scanned anew. Storing it in the
 * memo is the last that is done: what allocates has been done, and a collection in between finds a table in order.
 */
__attribute__((noinline))
VALUE segment_keep(VALUE self, const tseg_key *key, const tseg_token *token, double expires_at, VALUE string)
{
    tseg_memo *memo = segment_memo(self);
    uint32_t bytes = (uint32_t)RSTRING_LEN(string);

    if (!memo || !tseg_memo_wants(memo, key->hash, token, bytes)) return string;
    rb_enc_str_coderange(string);
    rb_obj_freeze(string);
    VALUE shared = segment_share(string);
    if (tseg_memo_keep(memo, key->hash, token, expires_at, (uintptr_t)string, bytes))
        RB_OBJ_WRITTEN(self, Qundef, string);
    RB_GC_GUARD(string);
    return shared;
}

void segment_mark_memo(const tseg_memo *memo)
{
    for (uint32_t i = 0; i < memo->used; i++)
        if (memo->slots[i].value) rb_gc_mark_movable((VALUE)memo->slots[i].value);
}

void segment_update_memo(tseg_memo *memo)
{
    for (uint32_t i = 0; i < memo->used; i++)
        if (memo->slots[i].value) memo->slots[i].value = (uintptr_t)rb_gc_location((VALUE)memo->slots[i].value);
}

/* Segment#memo_bytes = Integer: forgets what is kept; 0 keeps nothing more */
static VALUE segment_set_memo_bytes(VALUE self, VALUE bytes)
{
    int64_t limit_bytes = NUM2LL(bytes);

    if (limit_bytes < 0) rb_raise(rb_eArgError, "memo_bytes: expected 0 or more, got %"PRIsVALUE, bytes);
    tseg_memo_set_limit(&segment_handle_of(self)->memo, (uint64_t)limit_bytes);
    return bytes;
}

/* Segment#memo_bytes -> Integer */
static VALUE segment_memo_bytes(VALUE self) { return ULL2NUM(segment_handle_of(self)->memo.limit_bytes); }

void segment_init_memo(void)
{
    rb_define_method(tiercel_segment_class, "memo_bytes=", segment_set_memo_bytes, 1);
    rb_define_method(tiercel_segment_class, "memo_bytes", segment_memo_bytes, 0);
}
