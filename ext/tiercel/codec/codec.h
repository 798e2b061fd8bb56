#ifndef TIERCEL_CODEC_H
#define TIERCEL_CODEC_H

#include <ruby.h>
#include <ruby/encoding.h>
#include "buffer.h"

/* encoder.c: what `finish` makes of a value's msgpack, which begins behind
 * `front` bytes that are left free; Qnil if the value is not plain data. Until
 * `finish` is called, no method is called, nothing is raised, no collection
 * starts and no other thread runs: sizes and pointers hold. What `finish`
 * raises leaves nothing behind. */
typedef VALUE encoded_function(buffer *out, void *context);
VALUE with_plain(VALUE value, size_t front, encoded_function *finish, void *context);

/* hash_layout.c: whether a Hash is nothing but its pairs: no default, not
 * compare_by_identity, not keywords in disguise. Calls no method. */
bool only_pairs(VALUE hash);
/* False where this Ruby keeps Hashes in a way that could not be found out. */
bool init_hash_layout(void);

/* decoder.c: the one value that the bytes hold. They must stay where they are
 * until it returns. Raises malformed_frame. */
VALUE decode_plain(const uint8_t *bytes, size_t size);

/* frame.c: dump_frame and load_frame. */
void init_frame(VALUE tiercel, VALUE module);

/* keys.c: key, keys, version, versions */
void init_keys(VALUE module);

/* lz4.c: lz4_block_size, lz4_inflate, lz4_deflate */
void init_lz4(VALUE module);

/* small_file.c: read_small */
void init_small_file(VALUE module);

/* counter_page.c: CounterPage */
void init_counter_page(VALUE module);

/* codec.c */
extern VALUE malformed_frame;

#endif
