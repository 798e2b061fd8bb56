/*
 * Shared by the files of the Ruby binding. The binding converts arguments and results, and lends the core the GVL.
 * The binding contains no algorithm of the segment.
 */
#ifndef TIERCEL_SEGMENT_BINDING_H
#define TIERCEL_SEGMENT_BINDING_H

#include "system.h"

#include <ruby.h>
#include <ruby/encoding.h>
#include <ruby/thread.h>

#include "../frame_layout.h"

extern VALUE tiercel_segment_class;

/* binding.c: Ruby's side of tseg_host. */
typedef struct {
    tseg_host base;
    VALUE self;    /* a Tiercel::Segment; Qnil for work on no segment */
    int state;     /* from rb_protect, 0 if nothing was raised */
    bool detached; /* no segment could be attached: base.error gives the reason */
} segment_host;

/* binding.c: a Tiercel::Segment wraps a tseg_handle. */
extern const rb_data_type_t segment_handle_type;
static inline tseg_handle *segment_handle_of(VALUE self) { return rb_check_typeddata(self, &segment_handle_type); }
/* Like segment_handle_of, for a self whose type the caller has already checked. */
static inline tseg_handle *segment_handle_in(VALUE self) { return RTYPEDDATA_DATA(self); }
/*
 * The segment to use now: see tseg_handle_current. Raises Unavailable. The segment stays valid until Ruby code runs or
 * the GVL is released, because either may close the handle. Then the caller calls this function again.
 */
tseg *segment_make_current(VALUE self);
static inline tseg *segment_current(VALUE self)
{
    const tseg_handle *handle = segment_handle_in(self);
    tseg *attached = handle->attached;

    if (RB_LIKELY(TSEG_IS_CURRENT(handle, attached))) return attached;
    return segment_make_current(self);
}

/* binding_near.c: counts a miss and returns NULL. */
tseg *segment_distrusted(tseg *segment);
/* The segment to read from, as segment_current; NULL, which is a miss, if the handle does not trust the copies. */
static inline tseg *segment_to_read(VALUE self)
{
    tseg *segment = segment_current(self);
    const tseg_handle *handle = segment_handle_in(self);

    if (RB_LIKELY(!handle->near_trust_ns)) return segment;
    return RB_LIKELY(tseg_handle_trusts(handle, segment)) ? segment : segment_distrusted(segment);
}
static inline bool segment_may_fill(VALUE self, const tseg *segment)
{
    const tseg_handle *handle = segment_handle_in(self);
    return !handle->near_trust_ns || tseg_handle_trusts(handle, segment);
}

/* binding.c */
double segment_now(void); /* Time.now; runs Ruby code if a test has replaced that method */
double segment_coarse_now(void); /* the machine's own clock at its last tick */
typedef struct {
    double now, expires_at;
} segment_times;
/*
 * The times of a write, in epoch seconds; a ttl of nil: the entry never expires. A write calls this first, because
 * reading Ruby's clock may run Ruby code. A write without a ttl uses the time only to recognize expired entries at a
 * tail, which may be evicted anyway. Unless `exact`, it therefore reads the machine's own clock, which may differ from
 * a Time.now that a test has stubbed.
 */
static inline segment_times segment_times_of(VALUE ttl, bool exact)
{
    double now = exact || !NIL_P(ttl) ? segment_now() : segment_coarse_now();
    return (segment_times){now, NIL_P(ttl) ? INFINITY : now + NUM2DBL(ttl)};
}

/* binding.c: calls that the core may have to repeat. */
typedef struct {
    tseg_call base;
    VALUE key;   /* 0: the call has `keys` */
    VALUE bytes; /* 0: the call has none */
    VALUE keys;  /* 0, or an Array */
} segment_call;
/* Lets the core repeat a call whose first attempt gave no answer. Raises if no attempt gives one. */
tseg_result segment_repeat(VALUE self, segment_call *call);
static inline tseg_result segment_make_call(VALUE self, segment_call *call)
{
    VALUE key = call->key, bytes = call->bytes, keys = call->keys;
    tseg_result result = call->base.attempt(&call->base, segment_current(self));

    call->base.result = result;
    if (RB_UNLIKELY(!tseg_is_answer(result))) result = segment_repeat(self, call);
    RB_GC_GUARD(key);
    RB_GC_GUARD(bytes);
    RB_GC_GUARD(keys);
    return result;
}

static inline void segment_key(const tseg *segment, tseg_key *key, VALUE string)
{
    Check_Type(string, T_STRING);
    if (RSTRING_LEN(string) >= (long)UINT32_MAX) rb_raise(rb_eArgError, "a key of 4 GB: expected less");
    tseg_make_key(segment, key, RSTRING_PTR(string), (uint32_t)RSTRING_LEN(string));
}

/*
 * Segment#sample chooses keys by their hash, so that every read and `set` of a chosen key is seen, and all processes
 * choose the same keys. The first bits of the hash name the shard, so the choice mixes all bits.
 */
#define SEGMENT_MIXED(hash) ((hash) * UINT64_C(0x9E3779B97F4A7C15))
#define SEGMENT_SAMPLES(self, hash) RB_UNLIKELY(SEGMENT_MIXED(hash) < segment_handle_in(self)->sample_below)
/* The expiry in a frame; that of the entry, which may be later, for bytes that are no frame. */
static inline double segment_expiry_in(VALUE bytes, double of_entry)
{
    bool framed = RSTRING_LEN(bytes) >= FRAME_HEADER_BYTES && *RSTRING_PTR(bytes) == (char)FRAME_MAGIC;

    if (framed) memcpy(&of_entry, RSTRING_PTR(bytes) + offsetof(frame_header, expires_at), sizeof of_entry);
    return of_entry;
}
/*
 * binding_read.c: passes to the observer the key, 53 bits of its mixed hash, the value's bytes (-1: a read that misses;
 * -2 - bytes: a write), and its expiry.
 */
void segment_notify_observer(VALUE self, VALUE key, uint64_t hash, long bytes, double expires_at);

/* binding_near.c: the expected epoch of a near fill, XORed with the id of its file. Returns false if there is none. */
bool segment_near_expected(VALUE epoch, uint64_t *expected);

/*
 * The memo's values in Ruby. All of them are frozen. A reader gets a String that shares the value's bytes, or the value
 * itself.
 */
/* The memo of the segment, or NULL if it keeps nothing. The caller has checked that self is a Tiercel::Segment. */
static inline tseg_memo *segment_memo(VALUE self)
{
    tseg_memo *memo = &segment_handle_in(self)->memo;
    return memo->limit_bytes ? memo : NULL;
}

/* The terms of a kept value: 0, its version (a String), or an Array [version or nil, the frame's part TAGS]. */
static inline VALUE segment_terms_version(uintptr_t terms)
{
    if (!terms) return Qnil;
    return RB_TYPE_P((VALUE)terms, T_ARRAY) ? RARRAY_AREF((VALUE)terms, 0) : (VALUE)terms;
}
static inline VALUE segment_terms_tags(uintptr_t terms)
{
    return terms && RB_TYPE_P((VALUE)terms, T_ARRAY) ? RARRAY_AREF((VALUE)terms, 1) : Qnil;
}

/* A String that the caller may change. The String shares the bytes of the frozen one until one of the two changes. */
static inline VALUE segment_share(VALUE frozen)
{
    return RB_LIKELY(RBASIC_CLASS(frozen) == rb_cString) ? rb_str_dup(frozen) : rb_obj_dup(frozen);
}

/*
 * Counts a read of a frame that Ruby decodes. Returns true if the memo wants the value. objects: the memo may also keep
 * values that are not Strings.
 */
bool segment_wants_frame(VALUE self, VALUE frame, const tseg_key *key, const tseg_token *token, bool objects);

/*
 * Freezes and keeps the String that was just read, if the memo admits it. tags: nil, or the part TAGS of the frame of a
 * String that the memo wants.
 */
bool segment_keep_string(VALUE self, const tseg_key *key, const tseg_token *token, double expires_at, VALUE string,
                         VALUE tags);

void segment_mark_memo(const tseg_memo *memo);
void segment_update_memo(tseg_memo *memo); /* after compaction */

#endif
