#ifndef TIERCEL_CODEC_H
#define TIERCEL_CODEC_H

#include <ruby.h>
#include <ruby/encoding.h>
#include "buffer.h"

/*
 * encoder.c: encodes the value as msgpack into a buffer, behind `front` free bytes, and returns the result of
 * finish(buffer, context); Qnil if the value is not plain data. Before it calls `finish`, it calls no Ruby method,
 * raises nothing, starts no garbage collection and lets no other thread run. So sizes and pointers stay valid. If
 * `finish` raises, nothing leaks.
 */
typedef VALUE encoded_function(buffer *out, void *context);
VALUE with_plain(VALUE value, size_t front, encoded_function *finish, void *context);

/*
 * hash_layout.c: returns whether the pairs of a Hash describe it completely. A Hash with a default, with
 * compare_by_identity, or flagged as keyword arguments has further state. Calls no Ruby method.
 */
bool only_pairs(VALUE hash);
/* Returns false if the function does not recognize how this Ruby stores Hashes. */
bool init_hash_layout(void);

/* decoder.c: decodes one value. The bytes must not move until it returns. Raises malformed_frame. */
VALUE decode_plain(const uint8_t *bytes, size_t size);

/* frame.c: dump_frame and load_frame. */
void init_frame(VALUE tiercel, VALUE module);

/* keys.c: key, keys, version, versions */
void init_keys(VALUE module);

/* options.c: naming_options, lasts? */
void init_options(VALUE module);

/* lz4.c: lz4_block_size, lz4_inflate, lz4_deflate */
void init_lz4(VALUE module);

/* small_file.c: read_small */
void init_small_file(VALUE module);


/* codec.c */
extern VALUE malformed_frame;

#endif
