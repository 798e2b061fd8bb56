/*
 * Plain data as msgpack (the specification of msgpack.org). The encoder finds out in the same pass whether the data is
 * plain. In the bytes that the decoder reads, each element takes at least one byte. Before the decoder allocates a
 * container, it checks that enough bytes remain: for the container's elements, and for the elements that the outer
 * containers still expect.
 */
#include "codec.h"
#include <stdatomic.h>

/*
 * The first bytes of the formats that plain data uses. After a format whose name ends in 8, the next numbers are the
 * formats with a size of two and four bytes (for integers: with a number of two, four and eight bytes).
 */
enum {
    MP_FIXMAP = 0x80,   /* low 4 bits: size */
    MP_FIXARRAY = 0x90, /* low 4 bits: size */
    MP_FIXSTR = 0xA0,   /* low 5 bits: size */
    MP_NIL = 0xC0,
    MP_FALSE = 0xC2,
    MP_TRUE = 0xC3,
    MP_BIN8 = 0xC4,
    MP_EXT8 = 0xC7,
    MP_FLOAT64 = 0xCB,
    MP_UINT8 = 0xCC,
    MP_UINT64 = 0xCF,
    MP_INT8 = 0xD0,
    MP_INT64 = 0xD3,
    MP_FIXEXT1 = 0xD4, /* then of 2, 4, 8 and 16 bytes */
    MP_FIXEXT16 = 0xD8,
    MP_STR8 = 0xD9,
    MP_ARRAY16 = 0xDC,
    MP_ARRAY32 = 0xDD,
    MP_MAP16 = 0xDE,
    MP_MAP32 = 0xDF,
    MP_NEGATIVE_FIXINT = 0xE0,

    /* Extension types that plain data uses. */
    EXT_SYMBOL = 0,
    EXT_US_ASCII = 1,

    /* The greatest depth of nested Arrays and Hashes. */
    PLAIN_MAX_DEPTH = 100,
    /* Frozen Strings up to this size may occur more than once. */
    PLAIN_SHARED_STRING_BYTES = 1024,
};

/*
 * A set of object addresses: a hash table with open addressing. A new round empties the set, so a small walk does not
 * have to clear a large table.
 */
enum { IDENTITY_SET_FIRST = 1024, IDENTITY_SET_KEPT = 16 * 1024 };

typedef struct {
    uintptr_t address;
    uintptr_t round;
} identity_slot;

typedef struct {
    identity_slot *slots;
    size_t capacity; /* a power of two */
    size_t count;
    uintptr_t round;
} identity_set;

static void identity_set_start(identity_set *set)
{
    if (set->capacity > IDENTITY_SET_KEPT) {
        free(set->slots);
        *set = (identity_set){0};
    }
    set->count = 0;
    set->round++;
}

/* The slot of the address, or the free one where it belongs. */
static identity_slot *identity_set_find(const identity_set *set, uintptr_t address)
{
    uint64_t hash = (uint64_t)(address >> 3) * UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(hash >> 32) & (set->capacity - 1);
    while (set->slots[at].round == set->round && set->slots[at].address != address) at = (at + 1) & (set->capacity - 1);
    return set->slots + at;
}

static bool identity_set_grow(identity_set *set)
{
    identity_set larger = {.capacity = set->capacity ? set->capacity * 4 : IDENTITY_SET_FIRST, .count = set->count,
                           .round = 1};
    larger.slots = calloc(larger.capacity, sizeof(identity_slot));
    if (!larger.slots) return false;
    for (size_t at = 0; at < set->capacity; at++) {
        uintptr_t address = set->slots[at].address;
        if (set->slots[at].round == set->round) *identity_set_find(&larger, address) = (identity_slot){address, 1};
    }
    free(set->slots);
    *set = larger;
    return true;
}

/* Adds an address. Returns false if the set has it already, or without memory. */
static bool identity_set_add(identity_set *set, uintptr_t address)
{
    identity_slot *slot;
    if (set->count * 2 >= set->capacity && !identity_set_grow(set)) return false;
    slot = identity_set_find(set, address);
    if (slot->round == set->round) return false;
    *slot = (identity_slot){address, set->round};
    set->count++;
    return true;
}

/*
 * The memory of a walk, which the next walk reuses. A walk acquires the memory and returns it at its end. A walk that
 * begins concurrently, in another Ractor or within `finish`, allocates memory of its own.
 */
typedef struct {
    buffer out;
    identity_set seen;
} workspace;

static _Atomic(workspace *) spare;

typedef struct {
    buffer *out;
    identity_set *seen;
    int depth;
    int in_keys; /* more than 0 while the encoder is inside a Hash key */
    bool plain;
} encoder;

static bool encode(encoder *e, VALUE value);

static inline uint8_t *advance(encoder *e, size_t size)
{
    uint8_t *at;
    if (!buffer_reserve(e->out, size)) return NULL;
    at = e->out->data + e->out->size;
    e->out->size += size;
    return at;
}

static inline void put_be(uint8_t *p, uint64_t v, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--, v >>= 8) p[i] = (uint8_t)v;
}

static bool put_number(encoder *e, uint8_t first, uint64_t v, int bytes)
{
    uint8_t *p = advance(e, 1 + (size_t)bytes);
    if (!p) return false;
    p[0] = first;
    put_be(p + 1, v, bytes);
    return true;
}

static inline bool put_byte(encoder *e, uint8_t byte) { return put_number(e, byte, 0, 0); }

/* The formats of integers have 1, 2, 4 and 8 bytes, in this order. */
static bool encode_unsigned(encoder *e, uint64_t v)
{
    int power = v <= UINT8_MAX ? 0 : v <= UINT16_MAX ? 1 : v <= UINT32_MAX ? 2 : 3;
    return v < 0x80 ? put_byte(e, (uint8_t)v) : put_number(e, (uint8_t)(MP_UINT8 + power), v, 1 << power);
}

static bool encode_signed(encoder *e, int64_t v)
{
    int power = v >= INT8_MIN ? 0 : v >= INT16_MIN ? 1 : v >= INT32_MIN ? 2 : 3;
    if (v >= 0) return encode_unsigned(e, (uint64_t)v);
    return v >= -32 ? put_byte(e, (uint8_t)v) : put_number(e, (uint8_t)(MP_INT8 + power), (uint64_t)v, 1 << power);
}

static bool encode_bignum(encoder *e, VALUE value)
{
    uint64_t word = 0;
    int flags = INTEGER_PACK_LSWORD_FIRST | INTEGER_PACK_NATIVE_BYTE_ORDER | INTEGER_PACK_2COMP;
    int sign = rb_integer_pack(value, &word, 1, sizeof(word), 0, flags);
    if (sign == 1) return encode_unsigned(e, word);
    if (sign == -1 && word >> 63) return encode_signed(e, (int64_t)word);
    return false;
}

static bool encode_float(encoder *e, VALUE value)
{
    double number = RFLOAT_VALUE(value);
    uint64_t bits;
    if (e->in_keys && isnan(number)) return false; /* see decode_float */
    memcpy(&bits, &number, sizeof(bits));
    return put_number(e, MP_FLOAT64, bits, 8);
}

static bool put_bytes(encoder *e, const char *bytes, size_t size)
{
    uint8_t *p = advance(e, size);
    if (!p) return false;
    memcpy(p, bytes, size);
    return true;
}

/* Writes the shortest format that can hold the size, then the size. format8 is the format of one byte. */
static bool put_size(encoder *e, uint8_t format8, size_t size)
{
    if (size <= UINT8_MAX) return put_number(e, format8, size, 1);
    if (size <= UINT16_MAX) return put_number(e, format8 + 1, size, 2);
    return size <= UINT32_MAX && put_number(e, format8 + 2, size, 4);
}

static bool put_ext(encoder *e, uint8_t type, const char *bytes, size_t size)
{
    bool fixed = size && size <= 16 && !(size & (size - 1));
    bool first = fixed ? put_byte(e, (uint8_t)(MP_FIXEXT1 + __builtin_ctzl(size))) : put_size(e, MP_EXT8, size);
    return first && put_byte(e, type) && put_bytes(e, bytes, size);
}

static bool put_str(encoder *e, const char *bytes, size_t size)
{
    bool first = size < 32 ? put_byte(e, (uint8_t)(MP_FIXSTR | size)) : put_size(e, MP_STR8, size);
    return first && put_bytes(e, bytes, size);
}

/* The size of an Array or a Hash, which has no format of one byte. */
static bool put_elements(encoder *e, uint8_t fixed, uint8_t format16, size_t size)
{
    if (size < 16) return put_byte(e, (uint8_t)(fixed | size));
    if (size <= UINT16_MAX) return put_number(e, format16, size, 2);
    return size <= UINT32_MAX && put_number(e, format16 + 1, size, 4);
}

/* Returns whether the object has exactly this class, without singleton methods and instance variables. */
static inline bool bare(VALUE value, VALUE class)
{
    return RBASIC_CLASS(value) == class && rb_ivar_count(value) == 0;
}

static bool encode_string(encoder *e, VALUE value)
{
    const char *bytes = RSTRING_PTR(value);
    size_t size = (size_t)RSTRING_LEN(value);
    int encoding = rb_enc_get_index(value);
    if (!bare(value, rb_cString)) return false;
    if (!(OBJ_FROZEN(value) && size <= PLAIN_SHARED_STRING_BYTES) && !identity_set_add(e->seen, value)) return false;
    if (encoding == rb_utf8_encindex()) return put_str(e, bytes, size);
    if (encoding == rb_ascii8bit_encindex()) return put_size(e, MP_BIN8, size) && put_bytes(e, bytes, size);
    if (encoding == rb_usascii_encindex()) return put_ext(e, EXT_US_ASCII, bytes, size);
    return false;
}

static bool encode_symbol(encoder *e, VALUE value)
{
    VALUE name = rb_sym2str(value);
    int encoding = rb_enc_get_index(name);
    if (encoding != rb_usascii_encindex() && encoding != rb_utf8_encindex()) return false;
    return put_ext(e, EXT_SYMBOL, RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
}

/*
 * Returns whether the encoder may enter a container: the depth is within the limit, and the container occurs for the
 * first time.
 */
static bool enter(encoder *e, VALUE value, bool empty)
{
    if (e->depth >= PLAIN_MAX_DEPTH) return false;
    return (empty && OBJ_FROZEN(value)) || identity_set_add(e->seen, value);
}

static bool encode_array(encoder *e, VALUE value)
{
    long size = RARRAY_LEN(value);
    bool ok;
    if (!bare(value, rb_cArray) || !enter(e, value, size == 0)) return false;
    ok = put_elements(e, MP_FIXARRAY, MP_ARRAY16, (size_t)size);
    e->depth++;
    for (long at = 0; ok && at < size; at++) ok = encode(e, RARRAY_AREF(value, at));
    e->depth--;
    return ok;
}

static int encode_pair(VALUE key, VALUE value, VALUE arg)
{
    encoder *e = (encoder *)arg;
    e->in_keys++;
    e->plain = encode(e, key);
    e->in_keys--;
    if (e->plain) e->plain = encode(e, value);
    return e->plain ? ST_CONTINUE : ST_STOP;
}

static bool encode_hash(encoder *e, VALUE value)
{
    size_t size = RHASH_SIZE(value);
    if (!bare(value, rb_cHash) || !only_pairs(value) || !enter(e, value, size == 0)) return false;
    if (!put_elements(e, MP_FIXMAP, MP_MAP16, size)) return false;
    e->depth++;
    e->plain = true;
    if (size) rb_hash_foreach(value, encode_pair, (VALUE)e);
    e->depth--;
    return e->plain;
}

static bool encode(encoder *e, VALUE value)
{
    switch (rb_type(value)) {
      case T_NIL: return put_byte(e, MP_NIL);
      case T_FALSE: return put_byte(e, MP_FALSE);
      case T_TRUE: return put_byte(e, MP_TRUE);
      case T_FIXNUM: return encode_signed(e, FIX2LONG(value));
      case T_BIGNUM: return encode_bignum(e, value);
      case T_FLOAT: return encode_float(e, value);
      case T_STRING: return encode_string(e, value);
      case T_SYMBOL: return encode_symbol(e, value);
      case T_ARRAY: return encode_array(e, value);
      case T_HASH: return encode_hash(e, value);
      default: return false;
    }
}

typedef struct {
    VALUE value;
    size_t front;
    encoded_function *finish;
    void *context;
    workspace *held;
} walk;

static VALUE run_walk(VALUE arg)
{
    walk *w = (walk *)arg;
    encoder e = {.out = &w->held->out, .seen = &w->held->seen, .depth = 0, .plain = true};
    identity_set_start(e.seen);
    if (!buffer_reserve(e.out, w->front)) return Qnil;
    e.out->size = w->front;
    return encode(&e, w->value) ? w->finish(e.out, w->context) : Qnil;
}

static VALUE end_walk(VALUE arg)
{
    walk *w = (walk *)arg;
    workspace *other;

    buffer_reset(&w->held->out);
    other = atomic_exchange_explicit(&spare, w->held, memory_order_acq_rel);
    if (!other) return Qnil;
    free(other->out.data);
    free(other->seen.slots);
    free(other);
    return Qnil;
}

VALUE with_plain(VALUE value, size_t front, encoded_function *finish, void *context)
{
    walk w = {.value = value, .front = front, .finish = finish, .context = context};

    w.held = atomic_exchange_explicit(&spare, NULL, memory_order_acquire);
    if (!w.held) w.held = calloc(1, sizeof *w.held);
    if (!w.held) return Qnil;
    return rb_ensure(run_walk, (VALUE)&w, end_walk, (VALUE)&w);
}

/* Decoding. */
enum { CACHED_KEYS = 64, CACHED_KEY_BYTES = 64, MODEL_DEPTHS = 8 };

/*
 * A cache of Hash keys. Rows repeat their keys, and a lookup here costs less than interning the key again. Rows also
 * repeat the order of their keys, so the decoder first compares the key that came after the previous one last time.
 */
typedef struct cached_key {
    const uint8_t *bytes;
    uint32_t size;
    uint16_t kind;
    uint16_t format_bytes; /* of its format, before `bytes`; 0: not known */
    VALUE object;
    struct cached_key *next; /* the key that came after this one last time, or NULL */
} cached_key;

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
    size_t expected; /* elements of the open containers that are not decoded yet */
    int depth;
    int in_keys; /* more than 0 while the decoder is inside a Hash key */
    bool keep_keys; /* false for the keys of a Hash with more keys than the cache has places */
    cached_key *found; /* the key that was just decoded; NULL: another element, or a key that is not cached */
    cached_key start;  /* stands before the first key of a Hash */
    cached_key keys[CACHED_KEYS];
    VALUE models[MODEL_DEPTHS]; /* by depth: the last Hash. Rows have the same keys as the row before */
} decoder;

enum { KIND_UTF_8 = 1, KIND_BINARY, KIND_US_ASCII, KIND_SYMBOL };

static VALUE decode(decoder *d, bool as_key);

NORETURN(static void malformed(const char *reason));
static void malformed(const char *reason) { rb_raise(malformed_frame, "a msgpack payload is malformed: %s", reason); }

static inline size_t left(const decoder *d) { return (size_t)(d->end - d->at); }

static const uint8_t *next_bytes(decoder *d, size_t size)
{
    const uint8_t *at = d->at;
    if (left(d) < size) malformed("cut off");
    d->at += size;
    return at;
}

static uint64_t next_big_endian(decoder *d, int bytes)
{
    const uint8_t *p = next_bytes(d, (size_t)bytes);
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

/* Sets the encoding of a new String directly. rb_utf8_str_new first looks whether the String may have it. */
static VALUE make_string(const uint8_t *bytes, size_t size, uint32_t kind)
{
    VALUE string = rb_str_new((const char *)bytes, (long)size);
    if (kind == KIND_UTF_8) ENCODING_SET_INLINED(string, rb_utf8_encindex());
    if (kind == KIND_US_ASCII) ENCODING_SET_INLINED(string, rb_usascii_encindex());
    return string;
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
    d->found = cached;
    if (cached->kind == kind && cached->size == size && memcmp(cached->bytes, bytes, size) == 0) return cached->object;
    *cached = (cached_key){.bytes = bytes, .size = (uint32_t)size, .kind = (uint16_t)kind};
    cached->object = make_key(bytes, size, kind);
    return cached->object;
}

static VALUE decode_bytes(decoder *d, size_t size, uint32_t kind, bool as_key)
{
    const uint8_t *bytes = next_bytes(d, size);
    if (as_key || kind == KIND_SYMBOL) return find_key(d, bytes, size, kind);
    return make_string(bytes, size, kind);
}

static VALUE decode_ext(decoder *d, size_t size, bool as_key)
{
    switch (next_bytes(d, 1)[0]) {
      case EXT_SYMBOL: return decode_bytes(d, size, KIND_SYMBOL, as_key);
      case EXT_US_ASCII: return decode_bytes(d, size, KIND_US_ASCII, as_key);
      default: malformed("an extension type that plain data does not have");
    }
}

static void open_container(decoder *d, size_t elements)
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
    open_container(d, size);
    array = rb_ary_new_capa((long)size);
    for (size_t at = 0; at < size; at++) rb_ary_push(array, decode_element(d, false));
    d->depth--;
    d->found = NULL;
    return array;
}

/* Returns whether the payload continues with this key and its format. */
static inline bool is_next(const decoder *d, const cached_key *key)
{
    const uint8_t *known = key->bytes - key->format_bytes;
    size_t size = key->format_bytes + key->size;
    uint64_t a, b;
    if (!key->format_bytes || left(d) < size) return false;
    if (size > sizeof(a) || left(d) < sizeof(a)) return memcmp(d->at, known, size) == 0;
    memcpy(&a, d->at, sizeof(a));
    memcpy(&b, known, sizeof(b)); /* `known` is before d->at, so as many bytes are left there */
    return (a ^ b) << (64 - 8 * size) == 0;
}

/* *previous: the key before this one. */
static VALUE decode_key(decoder *d, cached_key **previous)
{
    cached_key *next = (*previous)->next;
    const uint8_t *at = d->at;
    VALUE key;
    if (next && is_next(d, next)) {
        d->at += next->format_bytes + next->size;
        d->expected--;
        *previous = next;
        return next->object;
    }
    d->found = NULL;
    d->in_keys++;
    key = decode_element(d, true);
    d->in_keys--;
    if (!d->found) return key;
    d->found->bytes = d->at - d->found->size;
    d->found->format_bytes = (uint16_t)(d->found->bytes - at);
    *previous = (*previous)->next = d->found;
    return key;
}

static void decode_pairs(decoder *d, VALUE *pairs, size_t size)
{
    cached_key *previous = &d->start;
    for (size_t at = 0; at < size; at++) {
        d->keep_keys = size <= CACHED_KEYS;
        pairs[2 * at] = decode_key(d, &previous);
        d->keep_keys = true;
        pairs[2 * at + 1] = decode_element(d, false);
    }
}

/*
 * If a Hash has the keys of the Hash before, it becomes a copy of that Hash. Every other Hash gets all pairs at once,
 * because a second bulk insert would examine all earlier pairs again.
 */
static VALUE decode_hash(decoder *d, size_t size)
{
    VALUE buffer, hash, *pairs, *model = d->models + d->depth % MODEL_DEPTHS;
    open_container(d, 2 * size);
    pairs = ALLOCV_N(VALUE, buffer, 2 * size);
    decode_pairs(d, pairs, size);
    hash = with_keys_of(*model, pairs, size);
    if (!hash) {
        hash = rb_hash_new_capa((long)size);
        rb_hash_bulk_insert((long)(2 * size), pairs, hash);
    }
    *model = hash;
    ALLOCV_END(buffer);
    d->depth--;
    d->found = NULL;
    return hash;
}

static VALUE decode_float(decoder *d)
{
    uint64_t bits = next_big_endian(d, 8);
    double number;
    memcpy(&number, &bits, sizeof(number));
    /* All NaNs have the same hash and no two are equal, so an insert would compare each with all those before it. */
    if (d->in_keys && isnan(number)) malformed("a key that is not equal to itself");
    return DBL2NUM(number);
}

/* The number behind a format; `smallest`: the format of its kind with a number of one byte. */
static uint64_t next_number(decoder *d, uint8_t format, uint8_t smallest)
{
    return next_big_endian(d, 1 << (format - smallest));
}

static VALUE decode_signed(decoder *d, uint8_t format)
{
    int unused_bits = 64 - (8 << (format - MP_INT8));
    return LL2NUM((int64_t)(next_number(d, format, MP_INT8) << unused_bits) >> unused_bits);
}

static VALUE decode_rest(decoder *d, uint8_t first, bool as_key)
{
    switch (first) {
      case MP_NIL: return Qnil;
      case MP_FALSE: return Qfalse;
      case MP_TRUE: return Qtrue;
      case MP_FLOAT64: return decode_float(d);
      case MP_UINT8 ... MP_UINT64: return ULL2NUM(next_number(d, first, MP_UINT8));
      case MP_INT8 ... MP_INT64: return decode_signed(d, first);
      case MP_STR8 ... MP_STR8 + 2: return decode_bytes(d, (size_t)next_number(d, first, MP_STR8), KIND_UTF_8, as_key);
      case MP_BIN8 ... MP_BIN8 + 2: return decode_bytes(d, (size_t)next_number(d, first, MP_BIN8), KIND_BINARY, as_key);
      case MP_FIXEXT1 ... MP_FIXEXT16: return decode_ext(d, (size_t)1 << (first - MP_FIXEXT1), as_key);
      case MP_EXT8 ... MP_EXT8 + 2: return decode_ext(d, (size_t)next_number(d, first, MP_EXT8), as_key);
      case MP_ARRAY16: return decode_array(d, (size_t)next_big_endian(d, 2));
      case MP_ARRAY32: return decode_array(d, (size_t)next_big_endian(d, 4));
      case MP_MAP16: return decode_hash(d, (size_t)next_big_endian(d, 2));
      case MP_MAP32: return decode_hash(d, (size_t)next_big_endian(d, 4));
      default: malformed("a format that plain data does not have");
    }
}

static VALUE decode(decoder *d, bool as_key)
{
    uint8_t first = next_bytes(d, 1)[0];
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
