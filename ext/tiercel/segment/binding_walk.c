/* Walks over the entries of a segment. */
#include "binding.h"

static VALUE key_string(const tseg_batch *batch, unsigned i)
{
    return rb_enc_str_new((const char *)batch->bytes + batch->entries[i].key_offset, batch->entries[i].key_bytes,
                          rb_utf8_encoding());
}

static VALUE describe(const tseg_batch *batch, unsigned i)
{
    VALUE key = key_string(batch, i);
    VALUE entry = rb_ary_new_capa(5);

    rb_ary_push(entry, key);
    rb_ary_push(entry, UINT2NUM(batch->entries[i].value_bytes));
    rb_ary_push(entry, UINT2NUM(batch->entries[i].allocated_bytes));
    rb_ary_push(entry, batch->entries[i].log == TSEG_MAIN ? ID2SYM(rb_intern("main")) : ID2SYM(rb_intern("small")));
    rb_ary_push(entry, UINT2NUM(batch->entries[i].hits));
    return entry;
}

typedef struct {
    VALUE self, prefix, found;
    tseg_walker walker;
    long limit, buckets;
    bool described;
} walk_call;

static void collect(walk_call *call)
{
    const tseg_walker *walker = &call->walker;

    for (const tseg_batch *batch = walker->batches; batch < walker->batches + walker->count; batch++)
        for (unsigned i = 0; i < batch->count; i++)
            rb_ary_push(call->found, call->described ? describe(batch, i) : key_string(batch, i));
}

static VALUE walk(VALUE argument)
{
    walk_call *call = (walk_call *)argument;
    segment_host host = segment_host_of(call->self);

    tseg_walk_begin(&call->walker);
    while (!call->walker.at_end && RARRAY_LEN(call->found) < call->limit) {
        tseg_walk_on(&host.base, &call->walker);
        segment_raise(&host);
        if (call->walker.result == TSEG_NO_MEMORY) rb_memerror();
        collect(call);
    }
    return Qnil;
}

static VALUE walk_used(VALUE argument)
{
    walk_call *call = (walk_call *)argument;
    bool more;

    do {
        more = tseg_walk_used(segment_current(call->self), &call->walker, &call->limit, &call->buckets);
        collect(call);
    } while (more);
    return Qnil;
}

static VALUE free_walker(VALUE argument)
{
    tseg_walk_free(&((walk_call *)argument)->walker);
    return Qnil;
}

static VALUE walk_from(walk_call *call, VALUE cursor, VALUE (*walk_on)(VALUE))
{
    tseg_cursor *at = &call->walker.cursor;

    call->found = rb_ary_new();
    if (call->prefix) call->walker.prefix = RSTRING_PTR(call->prefix);
    if (call->prefix) call->walker.prefix_bytes = (uint32_t)RSTRING_LEN(call->prefix);
    call->walker.now = segment_now();
    if (!NIL_P(cursor)) {
        Check_Type(cursor, T_STRING);
        if (RSTRING_LEN(cursor) != sizeof *at)
            rb_raise(rb_eArgError, "cursor: expected a String that this method returned");
        memcpy(at, RSTRING_PTR(cursor), sizeof *at);
    }
    rb_ensure(walk_on, (VALUE)call, free_walker, (VALUE)call);
    RB_GC_GUARD(call->prefix);
    return rb_assoc_new(call->walker.at_end ? Qnil : rb_str_new((const char *)at, sizeof *at), call->found);
}

/*
 * @private Segment#walk(cursor or nil, prefix, limit, described) -> [next cursor or nil, keys]; with `described` [next
 * cursor or nil, [[key, value bytes, allocated bytes, :small or :main, hits], ...]]. The cursor is nil at the end.
 */
static VALUE segment_walk(VALUE self, VALUE cursor, VALUE prefix, VALUE limit, VALUE described)
{
    walk_call call = {.self = self, .prefix = rb_str_new_frozen(rb_String(prefix)), .limit = NUM2LONG(limit),
                      .described = RTEST(described)};

    return walk_from(&call, cursor, walk);
}

/*
 * Segment#used_keys(cursor or nil, entries, buckets) -> [next cursor or nil, keys]. Reads about `entries` entries from
 * at most `buckets` buckets, and returns the keys of those that had a hit since they were written or last moved.
 */
static VALUE segment_used_keys(VALUE self, VALUE cursor, VALUE entries, VALUE buckets)
{
    walk_call call = {.self = self, .limit = NUM2LONG(entries), .buckets = NUM2LONG(buckets)};

    return walk_from(&call, cursor, walk_used);
}

void segment_init_walk(void)
{
    rb_define_private_method(tiercel_segment_class, "walk", segment_walk, 4);
    rb_define_method(tiercel_segment_class, "used_keys", segment_used_keys, 3);
}
