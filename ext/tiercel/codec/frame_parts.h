/* frame_parts.c: the optional parts of a frame, and the version in them. */
#ifndef TIERCEL_FRAME_PARTS_H
#define TIERCEL_FRAME_PARTS_H

#include "codec.h"
#include "frame.h"

/* A version that C can write and compare: a String in UTF-8 or US-ASCII. */
typedef struct {
    VALUE string;
    size_t size;
    uint8_t type; /* 0: no version */
} frame_version;

static inline uint8_t frame_encoding_type(VALUE string)
{
    int encoding = rb_enc_get_index(string);
    if (encoding == rb_utf8_encindex()) return FRAME_TYPE_STRING_UTF_8;
    if (encoding == rb_ascii8bit_encindex()) return FRAME_TYPE_STRING_BINARY;
    if (encoding == rb_usascii_encindex()) return FRAME_TYPE_STRING_US_ASCII;
    return 0;
}

/* Returns false for a version that only Ruby can handle. */
static inline bool frame_read_version(VALUE object, frame_version *v)
{
    *v = (frame_version){0};
    if (NIL_P(object)) return true;
    if (!RB_TYPE_P(object, T_STRING)) return false;
    v->type = frame_encoding_type(object);
    v->string = object;
    v->size = (size_t)RSTRING_LEN(object);
    return (v->type == FRAME_TYPE_STRING_UTF_8 || v->type == FRAME_TYPE_STRING_US_ASCII) &&
           v->size <= FRAME_MAX_VERSION_BYTES;
}

/* ASK_CALLER: the frame has another version, or tags. ASK_RUBY: it is damaged, or has parts that only Ruby reads. */
enum frame_verdict { SUITS, ASK_CALLER, ASK_RUBY };

/*
 * Checks the optional parts. SUITS: the version is the wanted one, and there are no tags. ASK_RUBY also for parts that
 * are cut off, repeated, of a wrong size, or critical and unknown. tags_compared: the caller has checked the tags.
 */
enum frame_verdict frame_check_parts(const uint8_t *parts, size_t size, VALUE wanted, bool tags_compared);

#endif
