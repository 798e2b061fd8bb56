/*
 * LZ4 blocks from and to Strings, by the system's liblz4. Without that library these methods do not exist. The
 * functions write straight into the resulting String.
 */
#include "codec.h"
#include <dlfcn.h>
#include <limits.h>

enum { SIZE_DIGITS_BYTES = 5, MOST_BYTES = 0x7E000000, MAX_EXPANSION = 255 }; /* MOST_BYTES: liblz4's maximum */

typedef int block_function(const char *from, char *to, int size, int room);
static block_function *deflate_block, *inflate_block;

/*
 * lz4_inflate(bytes, position, size): the inflated block as a String of exactly `size` bytes, or nil if the block has
 * another size or is damaged. Allocates nothing if the block is too short for `size`.
 */
static VALUE lz4_inflate(VALUE self, VALUE bytes, VALUE position, VALUE inflated_bytes)
{
    size_t at = NUM2SIZET(position), size = NUM2SIZET(inflated_bytes), left;
    VALUE held, inflated;
    int got;
    Check_Type(bytes, T_STRING);
    held = rb_str_new_frozen(bytes);
    if (at > (size_t)RSTRING_LEN(held) || size > MOST_BYTES) return Qnil;
    left = (size_t)RSTRING_LEN(held) - at;
    if (size / MAX_EXPANSION > left || left > INT_MAX) return Qnil;
    inflated = rb_str_new(NULL, (long)size);
    memset(RSTRING_PTR(inflated), 0, size); /* a damaged block could copy from bytes that it has not written */
    got = inflate_block(RSTRING_PTR(held) + at, RSTRING_PTR(inflated), (int)left, (int)size);
    RB_GC_GUARD(held);
    return got == (int)size ? inflated : Qnil;
}

/* Writes the size in base 128, lowest digit first. */
static char *put_size(char *to, size_t size)
{
    for (; size >= 0x80; size >>= 7) *to++ = (char)(size | 0x80);
    *to++ = (char)size;
    return to;
}

/* lz4_deflate(bytes): the size of the bytes in base 128, followed by their block */
static VALUE lz4_deflate(VALUE self, VALUE bytes)
{
    size_t size, room;
    char *start, *to;
    VALUE held, deflated;
    Check_Type(bytes, T_STRING);
    held = rb_str_new_frozen(bytes);
    size = (size_t)RSTRING_LEN(held);
    if (size > MOST_BYTES) rb_raise(rb_eArgError, "%" PRIuSIZE " bytes: an LZ4 block has at most 2 GB", size);
    room = size + size / MAX_EXPANSION + 16;
    deflated = rb_str_new(NULL, (long)(SIZE_DIGITS_BYTES + room));
    start = RSTRING_PTR(deflated);
    to = put_size(start, size);
    to += deflate_block(RSTRING_PTR(held), to, (int)size, (int)room);
    rb_str_set_len(deflated, (long)(to - start));
    RB_GC_GUARD(held);
    return deflated;
}

void init_lz4(VALUE module)
{
    void *library = dlopen("liblz4.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    *(void **)&deflate_block = dlsym(library, "LZ4_compress_default");
    *(void **)&inflate_block = dlsym(library, "LZ4_decompress_safe");
    if (!deflate_block || !inflate_block) return;
    rb_define_singleton_method(module, "lz4_inflate", lz4_inflate, 3);
    rb_define_singleton_method(module, "lz4_deflate", lz4_deflate, 1);
}
