/* LZ4 blocks from and to Strings. The functions write straight into the resulting String. */
#include "codec.h"
#include "lz4.h"

enum { SIZE_DIGITS_BYTES = 5 };

/*
 * lz4_inflate(bytes, position, size): the inflated block as a String of exactly `size` bytes, or nil if the block has
 * another size or is damaged. Allocates nothing if the block is too short for `size`.
 */
static VALUE inflate(VALUE self, VALUE bytes, VALUE position, VALUE inflated_bytes)
{
    size_t at = NUM2SIZET(position), size = NUM2SIZET(inflated_bytes), left;
    VALUE held, inflated;
    bool whole;
    Check_Type(bytes, T_STRING);
    held = rb_str_new_frozen(bytes);
    if (at > (size_t)RSTRING_LEN(held) || size > LONG_MAX) return Qnil;
    left = (size_t)RSTRING_LEN(held) - at;
    if (size / LZ4_MAX_EXPANSION > left) return Qnil;
    inflated = rb_str_new(NULL, (long)size);
    whole = lz4_decode((const uint8_t *)RSTRING_PTR(held) + at, left, (uint8_t *)RSTRING_PTR(inflated), size);
    RB_GC_GUARD(held);
    return whole ? inflated : Qnil;
}

/* Writes the size in base 128, lowest digit first. */
static uint8_t *put_size(uint8_t *to, size_t size)
{
    for (; size >= 0x80; size >>= 7) *to++ = (uint8_t)(size | 0x80);
    *to++ = (uint8_t)size;
    return to;
}

/* lz4_deflate(bytes): the size of the bytes in base 128, followed by their block */
static VALUE deflate(VALUE self, VALUE bytes)
{
    size_t size;
    unsigned bits;
    uint32_t *table;
    uint8_t *start, *to;
    VALUE held, deflated, buffer;
    Check_Type(bytes, T_STRING);
    held = rb_str_new_frozen(bytes);
    size = (size_t)RSTRING_LEN(held);
    if (size > UINT32_MAX) rb_raise(rb_eArgError, "%" PRIuSIZE " bytes: an LZ4 block has at most 4 GB", size);
    bits = lz4_table_bits(size);
    deflated = rb_str_new(NULL, (long)(SIZE_DIGITS_BYTES + lz4_bound(size)));
    table = rb_alloc_tmp_buffer(&buffer, (long)(sizeof(*table) << bits));
    memset(table, 0, sizeof(*table) << bits);
    start = (uint8_t *)RSTRING_PTR(deflated);
    to = put_size(start, size);
    to += lz4_encode((const uint8_t *)RSTRING_PTR(held), size, to, table, bits);
    rb_free_tmp_buffer(&buffer);
    rb_str_set_len(deflated, (long)(to - start));
    RB_GC_GUARD(held);
    return deflated;
}

void init_lz4(VALUE module)
{
    rb_define_singleton_method(module, "lz4_inflate", inflate, 3);
    rb_define_singleton_method(module, "lz4_deflate", deflate, 1);
}
