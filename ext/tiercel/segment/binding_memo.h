/* The memo's values, as Ruby sees them: frozen ones. Readers get a String's bytes, or the object itself. */
#ifndef TIERCEL_SEGMENT_BINDING_MEMO_H
#define TIERCEL_SEGMENT_BINDING_MEMO_H

#include "../frame_layout.h"
#include "binding.h"

/* The memo of a segment where it is in use, or NULL. The caller has asked for the segment: self is one. */
static inline tseg_memo *segment_memo(VALUE self)
{
    tseg_memo *memo = &((segment_handle *)RTYPEDDATA_DATA(self))->memo;
    return memo->limit_bytes ? memo : NULL;
}

/* Terms of an entry: 0, its version (a String), or an Array of its version or nil and its frame's part TAGS. */
static inline VALUE segment_terms_version(uintptr_t terms)
{
    if (!terms) return Qnil;
    return RB_TYPE_P((VALUE)terms, T_ARRAY) ? RARRAY_AREF((VALUE)terms, 0) : (VALUE)terms;
}
static inline VALUE segment_terms_tags(uintptr_t terms)
{
    return terms && RB_TYPE_P((VALUE)terms, T_ARRAY) ? RARRAY_AREF((VALUE)terms, 1) : Qnil;
}

/* A String of the caller's own, which shares the bytes of a frozen one until one of them changes. */
static inline VALUE segment_share(VALUE frozen)
{
    return RB_LIKELY(RBASIC_CLASS(frozen) == rb_cString) ? rb_str_dup(frozen) : rb_obj_dup(frozen);
}

/* Counts a read of a frame that Ruby decodes: whether the memo wants its value. objects: also what is no String. */
bool segment_wants_frame(VALUE self, VALUE frame, const tseg_key *key, const tseg_token *token, bool objects);

/* Keeps the String that was just read, if the memo admits it; it is frozen then. */
bool segment_keep_string(VALUE self, const tseg_key *key, const tseg_token *token, double expires_at, VALUE string);
/* The same of a String whose entry has tags (its frame's part TAGS) and that the memo wants. */
bool segment_keep_tagged_string(VALUE self, const tseg_key *key, const tseg_token *token, double expires_at,
                                VALUE string, VALUE tags);

/* Sets the memo's bound to its share of the machine's budget, if it has no bound of its own. */
void segment_share_budget(segment_handle *handle);
/* The same, unless it was done a few seconds ago. */
void segment_share_budget_again(segment_handle *handle, int64_t now);

void segment_mark_memo(const tseg_memo *memo);
void segment_update_memo(tseg_memo *memo); /* after compaction */
void segment_init_memo(void);

#endif
