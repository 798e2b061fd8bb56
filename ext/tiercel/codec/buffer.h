/*
 * A buffer of bytes that grows. It uses malloc, because Ruby's allocator may start a garbage collection, which could
 * move the objects that the encoder is walking.
 */
#ifndef TIERCEL_BUFFER_H
#define TIERCEL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* Empties the buffer. It keeps its memory for the next use, unless the memory is large. */
static inline void buffer_reset(buffer *b)
{
    b->size = 0;
    if (b->capacity <= BUFFER_KEPT_BYTES) return;
    free(b->data);
    b->data = NULL;
    b->capacity = 0;
}

#endif
