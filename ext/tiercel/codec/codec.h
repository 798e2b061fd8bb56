#ifndef TIERCEL_CODEC_H
#define TIERCEL_CODEC_H

#include <math.h>
#include <ruby.h>
#include <ruby/encoding.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "../frame_layout.h"

static inline bool ascii_only(const uint8_t *bytes, size_t size)
{
    const uint64_t high_bits = UINT64_C(0x8080808080808080);
    uint64_t seen = 0, eight;
    for (; size >= sizeof(eight); bytes += sizeof(eight), size -= sizeof(eight)) {
        memcpy(&eight, bytes, sizeof(eight));
        seen |= eight;
    }
    for (; size; bytes++, size--) seen |= *bytes;
    return !(seen & high_bits);
}

/*
 * A buffer of bytes that grows. The buffer uses malloc, because Ruby's allocator may start a garbage collection, which
 * could move the objects that the encoder is walking.
 */
enum { BUFFER_FIRST_BYTES = 16 * 1024, BUFFER_KEPT_BYTES = 256 * 1024 };

typedef struct {
    uint8_t *data;
    size_t size;
    size_t capacity;
} buffer;

static inline bool buffer_grow(buffer *b, size_t more)
{
    size_t capacity = b->capacity ? b->capacity : BUFFER_FIRST_BYTES;
    uint8_t *data;
    while (capacity - b->size < more) {
        if (capacity > SIZE_MAX / 2) return false;
        capacity *= 2;
    }
    data = realloc(b->data, capacity);
    if (!data) return false;
    b->data = data;
    b->capacity = capacity;
    return true;
}

/* Makes room for `more` bytes after the present ones. Returns false without memory. */
static inline bool buffer_reserve(buffer *b, size_t more)
{
    return b->capacity - b->size >= more || buffer_grow(b, more);
}

/* Empties the buffer. The buffer keeps its memory for the next use, unless the memory is large. */
static inline void buffer_reset(buffer *b)
{
    b->size = 0;
    if (b->capacity <= BUFFER_KEPT_BYTES) return;
    free(b->data);
    b->data = NULL;
    b->capacity = 0;
}

/*
 * plain.c: encodes the value as msgpack into a buffer, behind `front` free bytes, and returns the result of
 * finish(buffer, context); Qnil if the value is not plain data. Before `finish`, the encoder calls no Ruby method,
 * raises nothing, starts no garbage collection and lets no other thread run, so sizes and pointers stay valid. If
 * `finish` raises, nothing leaks.
 */
typedef VALUE encoded_function(buffer *out, void *context);
VALUE with_plain(VALUE value, size_t front, encoded_function *finish, void *context);

/*
 * codec.c: returns whether the pairs of a Hash describe it completely. A Hash with a default, with
 * compare_by_identity, or flagged as keyword arguments has further state. Calls no Ruby method.
 */
bool only_pairs(VALUE hash);

/*
 * codec.c: copies the Hash `model`, and gives the copy the values of `pairs` (`size` keys and values in turn). Computes
 * no hash of a key. Returns 0 if the model is 0, or if its keys are not the same objects in the same order.
 */
VALUE with_keys_of(VALUE model, const VALUE *pairs, size_t size);

/* plain.c: decodes one value. The bytes must not move until it returns. Raises malformed_frame. */
VALUE decode_plain(const uint8_t *bytes, size_t size);

/* The methods of Tiercel::CodecExt in each file. */
void init_frame(VALUE tiercel, VALUE module);
void init_keys(VALUE module);

/* codec.c */
extern VALUE malformed_frame;

#endif
