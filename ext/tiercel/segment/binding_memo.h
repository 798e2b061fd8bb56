/*
 * The memo's values in Ruby. All of them are frozen. A reader gets a String that shares the bytes, or the object
 * itself.
 */
#ifndef TIERCEL_SEGMENT_BINDING_MEMO_H
#define TIERCEL_SEGMENT_BINDING_MEMO_H

#include "../frame_layout.h"
#include "binding.h"

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

/* A String that the caller may change. It shares the bytes of the frozen one until one of the two changes. */
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
void segment_init_memo(void);

#endif
