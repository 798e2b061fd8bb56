/*
 * Tiercel::CodecExt: the parts of the codec in C. lib/tiercel/codec.rb defines the Ruby constants that this file looks
 * up, and then loads this extension.
 */
#include "codec.h"
#include "crc32.h"
#include <ruby/version.h>

VALUE malformed_frame;

static VALUE make_payload(buffer *encoded, void *context)
{
    return rb_str_new((const char *)encoded->data, (long)encoded->size);
}

/* dump(value): the value in msgpack, or nil if the value is not plain data */
static VALUE dump_plain(VALUE self, VALUE value) { return with_plain(value, 0, make_payload, NULL); }

/* load(bytes): the value of msgpack bytes */
static VALUE load_plain(VALUE self, VALUE bytes)
{
    VALUE held, value;
    Check_Type(bytes, T_STRING);
    held = rb_str_new_frozen(bytes);
    value = decode_plain((const uint8_t *)RSTRING_PTR(held), (size_t)RSTRING_LEN(held));
    RB_GC_GUARD(held);
    return value;
}

/* crc32(bytes, crc): the result of Zlib.crc32(bytes, crc). Like that method, it keeps the GVL. */
static VALUE update_crc32(VALUE self, VALUE bytes, VALUE crc)
{
    uint32_t updated, from = NUM2UINT(crc);
    Check_Type(bytes, T_STRING);
    updated = crc32_update(from, (const uint8_t *)RSTRING_PTR(bytes), (size_t)RSTRING_LEN(bytes));
    RB_GC_GUARD(bytes);
    return UINT2NUM(updated);
}

static void init_crc32(VALUE module)
{
    crc32_init();
    if (crc32_available()) rb_define_singleton_method(module, "crc32", update_crc32, 2);
}

RUBY_FUNC_EXPORTED void Init_codec_ext(void)
{
    VALUE tiercel = rb_define_module("Tiercel");
    VALUE module = rb_define_module_under(tiercel, "CodecExt");

    malformed_frame = rb_const_get(tiercel, rb_intern("MalformedFrame"));
    rb_gc_register_mark_object(malformed_frame);
    if (!init_hash_layout()) rb_raise(rb_eLoadError, "Ruby %s keeps Hashes in a way not known here", ruby_version);
    init_crc32(module);
    init_frame(tiercel, module);
    init_keys(module);
    init_options(module);
    rb_define_singleton_method(module, "dump", dump_plain, 1);
    rb_define_singleton_method(module, "load", load_plain, 1);
    init_lz4(module);
    init_small_file(module);
}
