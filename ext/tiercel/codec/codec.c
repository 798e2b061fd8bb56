/* Frames of Strings and plain data without Ruby in between. Whatever is rarer
 * (other encodings, versions, tags, compression, damage) is left to Ruby:
 * dump_frame then answers nil, load_frame answers FALLBACK. */
#include "codec.h"
#include "frame.h"
#include "lz4_block.h"
#ifdef HAVE_ZLIB_H
#include <zlib.h>
#endif

/* From this size on a String shares the frame's bytes instead of copying them.
 * It is about what Ruby keeps inside of the object (adr/004-frame.md). */
enum { SHARED_PAYLOAD_BYTES = 640 };

VALUE malformed_frame;
static VALUE signal_miss, signal_expired, signal_fallback, clock_module;
static ID id_now;
static _Thread_local buffer thread_buffer;

static uint32_t checksum(const uint8_t *bytes, size_t size)
{
#ifdef HAVE_ZLIB_H
    uLong crc = crc32(0L, Z_NULL, 0);
    while (size) {
        uInt chunk = size > 0x40000000 ? 0x40000000 : (uInt)size;
        crc = crc32(crc, bytes, chunk);
        bytes += chunk;
        size -= chunk;
    }
    return (uint32_t)crc;
#else
    rb_bug("checksum called without zlib");
#endif
}

static bool can_checksum(void)
{
#ifdef HAVE_ZLIB_H
    return true;
#else
    return false;
#endif
}

static void write_header(uint8_t *frame, int type, size_t payload_bytes, VALUE expires_at, bool with_checksum)
{
    frame_header header = {
        .type = (uint8_t)type,
        .compressor = FRAME_COMPRESSOR_NONE,
        .flags = with_checksum ? FRAME_FLAG_CHECKSUM : 0,
        .payload_bytes = (uint32_t)payload_bytes,
        .crc = with_checksum ? checksum(frame + FRAME_HEADER_BYTES, payload_bytes) : 0,
        .expires_at = NIL_P(expires_at) ? INFINITY : NUM2DBL(expires_at),
    };
    frame_write_header(frame, &header);
}

static int string_type(VALUE value)
{
    int encoding = rb_enc_get_index(value);
    if (rb_obj_class(value) != rb_cString || rb_ivar_count(value) != 0) return 0;
    if (encoding == rb_utf8_encindex()) return FRAME_TYPE_STRING_UTF_8;
    if (encoding == rb_ascii8bit_encindex()) return FRAME_TYPE_STRING_BINARY;
    if (encoding == rb_usascii_encindex()) return FRAME_TYPE_STRING_US_ASCII;
    return 0;
}

static VALUE dump_string(VALUE value, VALUE expires_at, bool with_checksum, VALUE threshold)
{
    int type = string_type(value);
    size_t size = (size_t)RSTRING_LEN(value);
    VALUE frame;
    if (!type || size > FRAME_MAX_PAYLOAD_BYTES) return Qnil;
    if (!NIL_P(threshold) && (!FIXNUM_P(threshold) || (long)size >= FIX2LONG(threshold))) return Qnil;
    frame = rb_str_new(NULL, (long)(FRAME_HEADER_BYTES + size));
    memcpy(RSTRING_PTR(frame) + FRAME_HEADER_BYTES, RSTRING_PTR(value), size);
    write_header((uint8_t *)RSTRING_PTR(frame), type, size, expires_at, with_checksum);
    RB_GC_GUARD(value);
    return frame;
}

/* A String of what the buffer holds; the buffer is emptied. */
static VALUE buffer_string(buffer *b)
{
    VALUE string = rb_str_new((const char *)b->data, (long)b->size);
    buffer_reset(b);
    return string;
}

static VALUE dump_plain_frame(VALUE value, VALUE expires_at, bool with_checksum)
{
    buffer *b = &thread_buffer;
    size_t payload_bytes;
    b->size = 0;
    if (!buffer_reserve(b, FRAME_HEADER_BYTES)) return Qnil;
    b->size = FRAME_HEADER_BYTES;
    if (!encode_plain(b, value) || (payload_bytes = b->size - FRAME_HEADER_BYTES) > FRAME_MAX_PAYLOAD_BYTES) {
        buffer_reset(b);
        return Qnil;
    }
    write_header(b->data, FRAME_TYPE_PLAIN, payload_bytes, expires_at, with_checksum);
    return buffer_string(b);
}

/* dump_frame(value, expires_at, plain, checksum, threshold): the frame, or nil
 * where Ruby has to make it. Strings of `threshold` bytes and more are left to
 * Ruby, which compresses them. */
static VALUE dump_frame(VALUE self, VALUE value, VALUE expires_at, VALUE plain, VALUE with_checksum, VALUE threshold)
{
    if (RTEST(with_checksum) && !can_checksum()) return Qnil;
    if (!NIL_P(expires_at)) expires_at = rb_to_float(expires_at);
    if (RB_TYPE_P(value, T_STRING)) {
        VALUE frame = dump_string(value, expires_at, RTEST(with_checksum), threshold);
        if (!NIL_P(frame) || rb_obj_class(value) == rb_cString) return frame;
    }
    return RTEST(plain) ? dump_plain_frame(value, expires_at, RTEST(with_checksum)) : Qnil;
}

static VALUE load_string(VALUE bytes, size_t size, int encoding)
{
    VALUE value;
    if (size < SHARED_PAYLOAD_BYTES) {
        value = rb_str_new(RSTRING_PTR(bytes) + FRAME_HEADER_BYTES, (long)size);
    }
    else {
        value = rb_str_subseq(bytes, FRAME_HEADER_BYTES, (long)size);
    }
    RB_GC_GUARD(bytes);
    rb_enc_associate_index(value, encoding);
    return value;
}

static VALUE load_payload(VALUE bytes, const frame_header *header)
{
    VALUE held, value;
    /* Asking the clock may have let another thread run. */
    if ((size_t)RSTRING_LEN(bytes) != FRAME_HEADER_BYTES + (size_t)header->payload_bytes) return signal_fallback;
    switch (header->type) {
      case FRAME_TYPE_STRING_UTF_8: return load_string(bytes, header->payload_bytes, rb_utf8_encindex());
      case FRAME_TYPE_STRING_BINARY: return load_string(bytes, header->payload_bytes, rb_ascii8bit_encindex());
      case FRAME_TYPE_STRING_US_ASCII: return load_string(bytes, header->payload_bytes, rb_usascii_encindex());
      case FRAME_TYPE_PLAIN:
        held = rb_str_new_frozen(bytes);
        value = decode_plain((const uint8_t *)RSTRING_PTR(held) + FRAME_HEADER_BYTES, header->payload_bytes);
        RB_GC_GUARD(held);
        return value;
      case FRAME_TYPE_PLACEHOLDER: return signal_miss;
      default: return signal_fallback;
    }
}

static bool expired(double expires_at, VALUE now)
{
    if (isinf(expires_at)) return expires_at < 0;
    if (NIL_P(now)) now = rb_funcall(clock_module, id_now, 0);
    return expires_at <= NUM2DBL(now);
}

/* load_frame(bytes, now): the value, MISS, EXPIRED, or FALLBACK where Ruby has
 * to look. `now` may be nil: the clock is then read where it is needed. */
static VALUE load_frame(VALUE self, VALUE bytes, VALUE now)
{
    frame_header header;
    const uint8_t *data;
    Check_Type(bytes, T_STRING);
    data = (const uint8_t *)RSTRING_PTR(bytes);
    if (!frame_read_header(data, (size_t)RSTRING_LEN(bytes), &header)) return signal_fallback;
    if (header.parts_bytes || header.compressor != FRAME_COMPRESSOR_NONE) return signal_fallback;
    if (header.flags & FRAME_FLAG_CHECKSUM) {
        if (header.flags != FRAME_FLAG_CHECKSUM || !can_checksum()) return signal_fallback;
        if (checksum(data + FRAME_HEADER_BYTES, header.payload_bytes) != header.crc) return signal_fallback;
    }
    else if (header.flags || header.crc) return signal_fallback;
    if (header.type != FRAME_TYPE_PLACEHOLDER && expired(header.expires_at, now)) return signal_expired;
    return load_payload(bytes, &header);
}

static VALUE dump_plain(VALUE self, VALUE value)
{
    buffer *b = &thread_buffer;
    b->size = 0;
    if (encode_plain(b, value)) return buffer_string(b);
    buffer_reset(b);
    return Qnil;
}

static VALUE load_plain(VALUE self, VALUE bytes)
{
    VALUE held, value;
    Check_Type(bytes, T_STRING);
    held = rb_str_new_frozen(bytes);
    value = decode_plain((const uint8_t *)RSTRING_PTR(held), (size_t)RSTRING_LEN(held));
    RB_GC_GUARD(held);
    return value;
}

/* lz4_block_size(bytes, position): Integer, or nil if the block is not whole. */
static VALUE block_size(VALUE self, VALUE bytes, VALUE position)
{
    size_t at = NUM2SIZET(position);
    uint64_t inflated;
    bool whole;
    Check_Type(bytes, T_STRING);
    if (at > (size_t)RSTRING_LEN(bytes)) return Qnil;
    whole = lz4_block_size((const uint8_t *)RSTRING_PTR(bytes) + at, (size_t)RSTRING_LEN(bytes) - at, &inflated);
    RB_GC_GUARD(bytes);
    return whole ? ULL2NUM(inflated) : Qnil;
}

static VALUE constant(VALUE under, const char *name)
{
    VALUE object = rb_const_get(under, rb_intern(name));
    rb_gc_register_mark_object(object);
    return object;
}

/* lib/tiercel/codec.rb loads what is looked up here first. */
RUBY_FUNC_EXPORTED void Init_codec_ext(void)
{
    VALUE tiercel = rb_define_module("Tiercel");
    VALUE module = rb_define_module_under(tiercel, "CodecExt");
    VALUE coder = constant(tiercel, "Coder");

    malformed_frame = constant(tiercel, "MalformedFrame");
    clock_module = constant(tiercel, "Clock");
    signal_miss = constant(coder, "MISS");
    signal_expired = constant(coder, "EXPIRED");
    signal_fallback = constant(coder, "FALLBACK");
    id_now = rb_intern("now");
    init_encoder();
    rb_define_singleton_method(module, "dump_frame", dump_frame, 5);
    rb_define_singleton_method(module, "load_frame", load_frame, 2);
    rb_define_singleton_method(module, "dump", dump_plain, 1);
    rb_define_singleton_method(module, "load", load_plain, 1);
    rb_define_singleton_method(module, "lz4_block_size", block_size, 2);
    rb_define_const(module, "CHECKSUM", can_checksum() ? Qtrue : Qfalse);
}
