/* What the files of the Ruby binding share. No algorithm of the segment is in them. */
#ifndef TIERCEL_SEGMENT_BINDING_H
#define TIERCEL_SEGMENT_BINDING_H

#include <math.h>
#include <ruby.h>
#include <ruby/encoding.h>
#include <ruby/thread.h>

#include "segment.h"

/* One Tiercel::Segment: a handle on an attachment, which other handles of the process may share. */
typedef struct {
    tseg *attached;       /* NULL: closed, opens again when it is used */
    char *path;           /* NULL: private memory */
    tseg_options options;
    uint64_t hash_key[2];
    bool opened;
    int64_t checked_at;   /* seconds of the monotonic clock when the path was last looked at */
} segment_handle;

extern VALUE tiercel_segment_class;

/* binding.c */
/* The attachment to use now: registered after a fork, moved to what the path leads to. Raises Unavailable. */
tseg *segment_current(VALUE self);
/* Raises what a result stands for, where it is not an answer. */
void segment_fail(VALUE self, tseg_result result, VALUE key);
static inline bool segment_is_answer(tseg_result result)
{
    return result != TSEG_BUSY && result != TSEG_READ_ONLY && result != TSEG_RETIRED && result != TSEG_WOULD_WAIT;
}

/* binding_time.c */
bool segment_time_is_ruby(void); /* Time.now is the original method */
double segment_now(void);
double segment_now_for_eviction(void); /* never calls Ruby */
double segment_expires_at(VALUE ttl);  /* INFINITY for nil */
extern bool segment_strings_are_held;  /* waiting without the GVL is allowed: nobody can change the call's Strings */
void segment_init_host(void);

static inline void segment_key(const tseg *segment, tseg_key *key, VALUE string)
{
    Check_Type(string, T_STRING);
    if (RSTRING_LEN(string) >= (long)UINT32_MAX) rb_raise(rb_eArgError, "a key of 4 GB");
    tseg_make_key(segment, key, RSTRING_PTR(string), (uint32_t)RSTRING_LEN(string));
}

#define SEGMENT_TOKEN_BYTES 20
VALUE segment_token_string(const tseg_token *token);
bool segment_parse_token(VALUE string, tseg_token *token);

void segment_init_read(void);
void segment_init_write(void);
void segment_init_sweep(void);

#endif
