#ifndef TIERCEL_CODEC_H
#define TIERCEL_CODEC_H

#include <ruby.h>
#include <ruby/encoding.h>
#include "buffer.h"

/* encoder.c: appends a value's msgpack to the buffer; false if the value is
 * not plain data. Runs no Ruby code, raises nothing, starts no collection. */
bool encode_plain(buffer *out, VALUE value);
void init_encoder(void);

/* A buffer for one use: empty, with whatever room the last use left. */
buffer take_buffer(void);
void give_buffer(buffer *b);

/* decoder.c: the one value that the bytes hold. They must stay where they are
 * until it returns. Raises malformed_frame. */
VALUE decode_plain(const uint8_t *bytes, size_t size);

/* frame.c: dump_frame and load_frame. */
void init_frame(VALUE tiercel, VALUE module);

/* keys.c: plain_keys? */
void init_keys(VALUE module);

/* codec.c */
extern VALUE malformed_frame;

#endif
