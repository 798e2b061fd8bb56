/* Reads of many keys, a batch at a time: the core prefetches the memory of a batch. */
#include "binding_memo.h"
#include "binding_read.h"
#include "internal.h"

enum { READ_BATCH = 32 };

typedef struct {
    VALUE self;
    tseg *segment;
    uint64_t unmapped;          /* tseg_unmapped when the keys were made */
    tseg_key keys[READ_BATCH];  /* `bytes` is NULL for keys that are not Strings */
} read_batch;

/* Whether the segment is still current. Ruby code may have run between two reads. */
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

/*
 * The key as a frozen String. rb_hash_aset would otherwise look it up among Ruby's interned Strings, which costs half
 * as much as a read. The frozen String shares the bytes of a long key.
 */
static inline VALUE kept_key(VALUE key) { return OBJ_FROZEN(key) ? key : rb_str_new_frozen(key); }

/* frames: an Array, or nil. It gets the keys whose values Ruby has to decode. versions: an Array, or nil. */
static VALUE read_many(VALUE self, VALUE keys, segment_one_read *read_one, VALUE frames, VALUE versions)
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
        rb_hash_aset(found, kept_key(key), value);
        if (OBJ_FROZEN(value) && !NIL_P(frames)) rb_ary_push(frames, key);
    }
    RB_GC_GUARD(versions);
    return found;
}

/* Segment#get_multi(keys) -> Hash */
static VALUE segment_get_multi(VALUE self, VALUE keys) { return read_many(self, keys, segment_get_made, Qnil, Qnil); }

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
    return read_many(self, arguments[0], segment_read_made, frames, versions);
}

void segment_init_read_multi(void)
{
    rb_define_method(tiercel_segment_class, "get_multi", segment_get_multi, 1);
    rb_define_method(tiercel_segment_class, "read_multi", segment_read_multi, -1);
}
