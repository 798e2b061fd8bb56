/* Encodes plain data as msgpack. The same pass finds out whether the data is plain. */
#include "codec.h"
#include "msgpack.h"
#include <stdatomic.h>

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

static size_t identity_set_at(const identity_set *set, uintptr_t address)
{
    uint64_t hash = (uint64_t)(address >> 3) * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(hash >> 32) & (set->capacity - 1);
}

static void identity_set_put(identity_set *set, uintptr_t address)
{
    size_t at = identity_set_at(set, address);
    while (set->slots[at].round == set->round) at = (at + 1) & (set->capacity - 1);
    set->slots[at] = (identity_slot){address, set->round};
    set->count++;
}

static bool identity_set_grow(identity_set *set)
{
    identity_set larger = {.capacity = set->capacity ? set->capacity * 4 : IDENTITY_SET_FIRST, .round = 1};
    larger.slots = calloc(larger.capacity, sizeof(identity_slot));
    if (!larger.slots) return false;
    for (size_t at = 0; at < set->capacity; at++) {
        if (set->slots[at].round == set->round) identity_set_put(&larger, set->slots[at].address);
    }
    free(set->slots);
    *set = larger;
    return true;
}

/* Adds an address. Returns false if the set has it already, or without memory. */
static bool identity_set_add(identity_set *set, uintptr_t address)
{
    size_t at;
    if (set->count * 2 >= set->capacity && !identity_set_grow(set)) return false;
    at = identity_set_at(set, address);
    while (set->slots[at].round == set->round) {
        if (set->slots[at].address == address) return false;
        at = (at + 1) & (set->capacity - 1);
    }
    set->slots[at] = (identity_slot){address, set->round};
    set->count++;
    return true;
}

/*
 * The memory of a walk, which the next walk reuses. A walk takes the memory and returns it at its end. A walk that
 * begins meanwhile, in another Ractor or within `finish`, allocates memory of its own.
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
    if (e->in_keys && isnan(number)) return false; /* see decode_float in decoder.c */
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

/* Writes a size behind the first of its formats, which has one byte, that has room for it. */
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
