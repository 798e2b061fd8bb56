/* Walks over the entries of a segment. */
#include <stdlib.h>

#include "binding.h"
#include "internal.h"

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

#define WALK_BATCHES 32
/* For so long a walk keeps the GVL: to give it up costs more where matches are dense. */
#define WALK_WITH_GVL_NS UINT64_C(2000000)

typedef struct {
    VALUE self, prefix, found;
    tseg *segment;
    tseg_cursor cursor;
    long limit, buckets;
    double now;
    bool described, more;
    const char *prefix_bytes;
    uint32_t prefix_count;
    uint64_t until_ns; /* of the monotonic clock */
    tseg_result result;
    unsigned count; /* of batches with entries */
    tseg_batch batches[WALK_BATCHES];
} walk_call;

/* Until there are batches enough. */
static void fill_batches(void *argument, const atomic_bool *stop)
{
    walk_call *call = argument;

    call->count = 0;
    do {
        tseg_batch *batch = &call->batches[call->count];
        call->result = tseg_walk(call->segment, &call->cursor, call->prefix_bytes, call->prefix_count, call->now,
                                 batch);
        if (call->result != TSEG_OK) return;
        if (batch->count) call->count++;
    } while (call->count < WALK_BATCHES && !atomic_load(stop) && tseg_monotonic_ns() < call->until_ns);
}

static void take_found(walk_call *call)
{
    for (const tseg_batch *batch = call->batches; batch < call->batches + call->count; batch++)
        for (unsigned i = 0; i < batch->count; i++)
            rb_ary_push(call->found, call->described ? describe(batch, i) : key_string(batch, i));
}

static VALUE walk(VALUE argument)
{
    walk_call *call = (walk_call *)argument;
    segment_turns turns = segment_turns_of(call->self);
    const atomic_bool never = false;
    tseg_wait wait = {0};

    call->until_ns = tseg_monotonic_ns() + WALK_WITH_GVL_NS;
    while (call->more && RARRAY_LEN(call->found) < call->limit) {
        call->segment = segment_current(call->self);
        if (tseg_monotonic_ns() < call->until_ns) {
            fill_batches(call, &never);
        } else {
            call->until_ns = UINT64_MAX;
            segment_run(call->segment, fill_batches, call);
            call->until_ns = 0;
        }
        take_found(call);
        call->more = call->result != TSEG_ABSENT;
        if (call->result != TSEG_WOULD_WAIT) continue;
        call->segment = segment_current(call->self);
        tseg_wait_for_mover(&turns.base, call->segment, call->cursor.shard, &wait);
    }
    return Qnil;
}

/* As many buckets as have `limit` entries, but no more than `buckets`; fewer where a writer is at work in one. */
static VALUE walk_used(VALUE argument)
{
    walk_call *call = (walk_call *)argument;

    for (long seen = 0; call->more && seen < call->limit && call->buckets > 0; call->buckets--) {
        tseg_result result = tseg_walk(segment_current(call->self), &call->cursor, NULL, 0, call->now, call->batches);
        call->more = result != TSEG_ABSENT;
        if (result == TSEG_WOULD_WAIT) break;
        seen += call->batches->count;
        for (unsigned i = 0; i < call->batches->count; i++)
            if (call->batches->entries[i].hits) rb_ary_push(call->found, key_string(call->batches, i));
    }
    return Qnil;
}

static VALUE free_batches(VALUE argument)
{
    walk_call *call = (walk_call *)argument;

    for (unsigned i = 0; i < WALK_BATCHES; i++) free(call->batches[i].bytes);
    return Qnil;
}

static VALUE walk_from(walk_call *call, VALUE cursor, VALUE (*walk_on)(VALUE))
{
    call->found = rb_ary_new();
    if (call->prefix) call->prefix_bytes = RSTRING_PTR(call->prefix);
    if (call->prefix) call->prefix_count = (uint32_t)RSTRING_LEN(call->prefix);
    call->now = segment_now();
    call->more = true;
    if (!NIL_P(cursor)) {
        Check_Type(cursor, T_STRING);
        if (RSTRING_LEN(cursor) != sizeof call->cursor) rb_raise(rb_eArgError, "not a cursor");
        memcpy(&call->cursor, RSTRING_PTR(cursor), sizeof call->cursor);
    }
    rb_ensure(walk_on, (VALUE)call, free_batches, (VALUE)call);
    RB_GC_GUARD(call->prefix);
    return rb_assoc_new(call->more ? rb_str_new((const char *)&call->cursor, sizeof call->cursor) : Qnil, call->found);
}

/*
 * @private Segment#walk(cursor or nil, prefix, limit, described) -> [next cursor or nil, keys], or where described
 * [next cursor or nil, [[key, value bytes, allocated bytes, :small or :main, hits], ...]]
 */
static VALUE segment_walk(VALUE self, VALUE cursor, VALUE prefix, VALUE limit, VALUE described)
{
    walk_call call = {.self = self, .prefix = rb_str_new_frozen(rb_String(prefix)), .limit = NUM2LONG(limit),
                      .described = RTEST(described)};

    return walk_from(&call, cursor, walk);
}

/*
 * Segment#used_keys(cursor or nil, entries, buckets) -> [next cursor or nil, keys]: looks at about so many entries, in
 * no more than so many buckets of the index; the keys are of those with a hit since they were written or last moved
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
