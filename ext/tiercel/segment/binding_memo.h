/* The memo's values, as Ruby sees them: frozen ones. Readers get a String's bytes, or the object itself. */
#ifndef TIERCEL_SEGMENT_BINDING_MEMO_H
#define TIERCEL_SEGMENT_BINDING_MEMO_H

#include "binding.h"

/* The memo of a segment where it is in use, or NULL. Whoever calls it has asked for the segment: self is one. */
static inline tseg_memo *segment_memo(VALUE self)
{
    tseg_memo *memo = &((segment_handle *)RTYPEDDATA_DATA(self))->memo;
    return memo->limit_bytes ? memo : NULL;
}

/* What stands in a trial for a String as it is stored, and for what has to be decoded: no objects. */
#define SEGMENT_TRIED_STRING ((uintptr_t)INT2FIX(0))
#define SEGMENT_TRIED_DECODED ((uintptr_t)INT2FIX(1))

/* The same for a read; while the memo pauses, counted in reads, there is none. */
static inline tseg_memo *segment_memo_to_read(VALUE self)
{
    tseg_memo *memo = segment_memo(self);

    if (RB_LIKELY(!memo || !memo->pause)) return memo;
    memo->pause--;
    return NULL;
}

/* A String of the caller's own, which shares the bytes of a frozen one until somebody changes it. */
static inline VALUE segment_share(VALUE frozen) { return rb_str_dup(frozen); }

/* Whether an entry that was just read, and is not kept, was read before and is to be kept. */
bool segment_is_wanted(tseg_memo *memo, const tseg_key *key, const tseg_token *token, uint32_t bytes, bool decoded);

/* Keeps the String that was just read, if it is to be kept; it is frozen then. */
bool segment_keep_string(VALUE self, const tseg_key *key, const tseg_token *token, double expires_at, VALUE string);

void segment_mark_memo(const tseg_memo *memo);
void segment_update_memo(tseg_memo *memo); /* after compaction */
void segment_init_memo(void);

#endif
