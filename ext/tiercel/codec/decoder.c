/*
 * Decodes msgpack to plain data. Each element takes at least one byte. Before the decoder allocates a container, it
 * checks that enough bytes remain: for the container's elements, and for the elements that the outer containers still
 * expect.
 */
#include "codec.h"
#include "msgpack.h"

enum { CACHED_KEYS = 64, CACHED_KEY_BYTES = 64 };

/* A cache of Hash keys. Rows repeat their keys, and a lookup here costs less than interning the key again. */
typedef struct {
    const uint8_t *bytes;
    uint32_t size;
    uint32_t kind;
    VALUE object;
} cached_key;

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
    size_t expected; /* elements of the open containers that are not decoded yet */
    int depth;
    int in_keys; /* more than 0 while the decoder is inside a Hash key */
    bool keep_keys; /* false for the keys of a Hash with more keys than the cache has places */
    cached_key keys[CACHED_KEYS];
} decoder;

enum { KIND_UTF_8 = 1, KIND_BINARY, KIND_US_ASCII, KIND_SYMBOL };

static VALUE decode(decoder *d, bool as_key);

NORETURN(static void malformed(const char *reason));
static void malformed(const char *reason) { rb_raise(malformed_frame, "a msgpack payload is malformed: %s", reason); }

static inline size_t left(const decoder *d) { return (size_t)(d->end - d->at); }

static const uint8_t *take(decoder *d, size_t size)
{
    const uint8_t *at = d->at;
    if (left(d) < size) malformed("cut off");
    d->at += size;
    return at;
}

static uint64_t take_be(decoder *d, int bytes)
{
    const uint8_t *p = take(d, (size_t)bytes);
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v = v << 8 | p[i];
    return v;
}

static VALUE make_symbol(const uint8_t *bytes, size_t size)
{
    bool ascii = ascii_only(bytes, size);
    rb_encoding *encoding = ascii ? rb_usascii_encoding() : rb_utf8_encoding();
    VALUE symbol, name = Qnil;
    if (!ascii) {
        name = rb_enc_str_new((const char *)bytes, (long)size, encoding);
        if (rb_enc_str_coderange(name) == ENC_CODERANGE_BROKEN) malformed("a Symbol that is not UTF-8");
    }
    symbol = rb_check_symbol_cstr((const char *)bytes, (long)size, encoding);
    if (!NIL_P(symbol)) return symbol;
    /* rb_intern would make a Symbol that is never garbage-collected. */
    if (NIL_P(name)) name = rb_enc_str_new((const char *)bytes, (long)size, encoding);
    return rb_str_intern(name);
}

static VALUE make_string(const uint8_t *bytes, size_t size, uint32_t kind)
{
    if (kind == KIND_UTF_8) return rb_utf8_str_new((const char *)bytes, (long)size);
    if (kind == KIND_US_ASCII) return rb_usascii_str_new((const char *)bytes, (long)size);
    return rb_str_new((const char *)bytes, (long)size);
}

static VALUE make_key(const uint8_t *bytes, size_t size, uint32_t kind)
{
    rb_encoding *encoding;
    if (kind == KIND_SYMBOL) return make_symbol(bytes, size);
    if (kind == KIND_UTF_8) encoding = rb_utf8_encoding();
    else encoding = kind == KIND_US_ASCII ? rb_usascii_encoding() : rb_ascii8bit_encoding();
    return rb_enc_interned_str((const char *)bytes, (long)size, encoding);
}

static inline uint32_t key_slot(const uint8_t *bytes, size_t size)
{
    uint32_t hash = (uint32_t)size;
    if (size) hash += bytes[0] * 7u + bytes[size / 2] * 31u + bytes[size - 1] * 131u;
    return hash % CACHED_KEYS;
}

static VALUE find_key(decoder *d, const uint8_t *bytes, size_t size, uint32_t kind)
{
    cached_key *cached = &d->keys[key_slot(bytes, size)];
    if (!d->keep_keys || size > CACHED_KEY_BYTES) return make_key(bytes, size, kind);
    if (cached->kind == kind && cached->size == size && memcmp(cached->bytes, bytes, size) == 0) return cached->object;
    cached->object = make_key(bytes, size, kind);
    cached->bytes = bytes;
    cached->size = (uint32_t)size;
    cached->kind = kind;
    return cached->object;
}

static VALUE decode_bytes(decoder *d, size_t size, uint32_t kind, bool as_key)
{
    const uint8_t *bytes = take(d, size);
    if (as_key || kind == KIND_SYMBOL) return find_key(d, bytes, size, kind);
    return make_string(bytes, size, kind);
}

static VALUE decode_ext(decoder *d, size_t size, bool as_key)
{
    switch (take(d, 1)[0]) {
      case EXT_SYMBOL: return decode_bytes(d, size, KIND_SYMBOL, as_key);
      case EXT_US_ASCII: return decode_bytes(d, size, KIND_US_ASCII, as_key);
      default: malformed("an extension type that plain data does not have");
    }
}

static void enter(decoder *d, size_t elements)
{
    if (d->depth >= PLAIN_MAX_DEPTH) malformed("nested too deeply");
    if (left(d) < d->expected || elements > left(d) - d->expected) malformed("cut off");
    d->expected += elements;
    d->depth++;
}

static VALUE decode_element(decoder *d, bool as_key)
{
    d->expected--;
    return decode(d, as_key);
}

static VALUE decode_array(decoder *d, size_t size)
{
    VALUE array;
    enter(d, size);
    array = rb_ary_new_capa((long)size);
    for (size_t at = 0; at < size; at++) rb_ary_push(array, decode_element(d, false));
    d->depth--;
    return array;
}

static void decode_pairs(decoder *d, VALUE *pairs, size_t size)
{
    for (size_t at = 0; at < size; at++) {
        d->keep_keys = size <= CACHED_KEYS;
        d->in_keys++;
        pairs[2 * at] = decode_element(d, true);
        d->in_keys--;
        d->keep_keys = true;
        pairs[2 * at + 1] = decode_element(d, false);
    }
}

/* Inserts all pairs at once, which is fastest. A second bulk insert would examine all earlier pairs again. */
static VALUE decode_hash(decoder *d, size_t size)
{
    VALUE buffer, hash;
    VALUE *pairs;
    enter(d, 2 * size);
    hash = rb_hash_new_capa((long)size);
    pairs = ALLOCV_N(VALUE, buffer, 2 * size);
    decode_pairs(d, pairs, size);
    rb_hash_bulk_insert((long)(2 * size), pairs, hash);
    ALLOCV_END(buffer);
    d->depth--;
    return hash;
}

static VALUE decode_float(decoder *d)
{
    uint64_t bits = take_be(d, 8);
    double number;
    memcpy(&number, &bits, sizeof(number));
    /* All NaNs have the same hash and no two are equal, so an insert would compare each with all those before it. */
    if (d->in_keys && isnan(number)) malformed("a key that is not equal to itself");
    return DBL2NUM(number);
}

/* The number behind a format; `smallest`: the format of its kind with a number of one byte. */
static uint64_t take_number(decoder *d, uint8_t format, uint8_t smallest)
{
    return take_be(d, 1 << (format - smallest));
}

static VALUE decode_signed(decoder *d, uint8_t format)
{
    int unused_bits = 64 - (8 << (format - MP_INT8));
    return LL2NUM((int64_t)(take_number(d, format, MP_INT8) << unused_bits) >> unused_bits);
}

static VALUE decode_rest(decoder *d, uint8_t first, bool as_key)
{
    switch (first) {
      case MP_NIL: return Qnil;
      case MP_FALSE: return Qfalse;
      case MP_TRUE: return Qtrue;
      case MP_FLOAT64: return decode_float(d);
      case MP_UINT8 ... MP_UINT64: return ULL2NUM(take_number(d, first, MP_UINT8));
      case MP_INT8 ... MP_INT64: return decode_signed(d, first);
      case MP_STR8 ... MP_STR8 + 2: return decode_bytes(d, (size_t)take_number(d, first, MP_STR8), KIND_UTF_8, as_key);
      case MP_BIN8 ... MP_BIN8 + 2: return decode_bytes(d, (size_t)take_number(d, first, MP_BIN8), KIND_BINARY, as_key);
      case MP_FIXEXT1 ... MP_FIXEXT16: return decode_ext(d, (size_t)1 << (first - MP_FIXEXT1), as_key);
      case MP_EXT8 ... MP_EXT8 + 2: return decode_ext(d, (size_t)take_number(d, first, MP_EXT8), as_key);
      case MP_ARRAY16: return decode_array(d, (size_t)take_be(d, 2));
      case MP_ARRAY32: return decode_array(d, (size_t)take_be(d, 4));
      case MP_MAP16: return decode_hash(d, (size_t)take_be(d, 2));
      case MP_MAP32: return decode_hash(d, (size_t)take_be(d, 4));
      default: malformed("a format that plain data does not have");
    }
}

static VALUE decode(decoder *d, bool as_key)
{
    uint8_t first = take(d, 1)[0];
    if (first < MP_FIXMAP) return INT2FIX(first);
    if (first >= MP_NEGATIVE_FIXINT) return INT2FIX((int8_t)first);
    if (first < MP_FIXARRAY) return decode_hash(d, first & 0x0F);
    if (first < MP_FIXSTR) return decode_array(d, first & 0x0F);
    if (first < MP_NIL) return decode_bytes(d, first & 0x1F, KIND_UTF_8, as_key);
    return decode_rest(d, first, as_key);
}

VALUE decode_plain(const uint8_t *bytes, size_t size)
{
    decoder d = {.at = bytes, .end = bytes + size, .keep_keys = true};
    VALUE value = decode(&d, false);
    if (d.at != d.end) malformed("bytes behind its end");
    return value;
}
