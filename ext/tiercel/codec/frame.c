/*
 * Frames of Strings and plain data, with or without a version. Ruby handles the rarer cases: other encodings,
 * compression, damage, and writing tags. dump_frame then returns nil, and load_frame returns FALLBACK.
 */
#include "codec.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/*
 * The CRC-32 of RFC 1952: by carry-less multiplication if the processor has it, else by tables.
 *
 * The method is that of V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction",
 * Intel, 2009. A message is a polynomial over GF(2), and its CRC is the remainder modulo
 *
 *   P = x^32 + x^26 + x^23 + x^22 + x^16 + x^12 + x^11 + x^10 + x^8 + x^7 + x^5 + x^4 + x^2 + x + 1
 *
 * Polynomials that are congruent modulo P have the same remainder. So 128 bits H * x^64 + L with D more bits behind
 * them may be replaced by H * (x^(D+64) mod P) + L * (x^D mod P). This sum is shorter than 128 bits, and is added to
 * the last 128 of those D bits. The step costs two multiplications for 16 bytes. Four such sums run side by side (D =
 * 512), because the processor can start a multiplication before the last one has ended. At the end the four sums become
 * one (D = 128).
 *
 * In RFC 1952 the lowest bit of a byte is the highest power, so registers hold polynomials with their bits reversed:
 * the low half of a register is H. The product of two reversed 64-bit numbers has 127 bits, and is one bit too low. The
 * constants correct that: each is a remainder, reversed in 32 bits and shifted left by one, so it has 33 bits. The
 * remainders are in the upper half of a 64-bit register, so their powers are lower by 32: D+32 and D-32.
 */
/* tables[n][byte]: the remainder of the byte with n zero bytes behind it. Eight bytes need eight look-ups. */
static uint32_t tables[8][256];

static uint32_t by_tables(uint32_t crc, const uint8_t *bytes, size_t size)
{
    uint64_t eight;

    crc = ~crc;
    for (; size >= sizeof eight; bytes += sizeof eight, size -= sizeof eight) {
        memcpy(&eight, bytes, sizeof eight);
        eight ^= crc;
        crc = 0;
        for (int n = 7; n >= 0; n--, eight >>= 8) crc ^= tables[n][eight & 0xff];
    }
    for (; size; size--) crc = tables[0][(crc ^ *bytes++) & 0xff] ^ crc >> 8;
    return ~crc;
}

#if defined(__x86_64__)
enum { LANE = 16, STRIDE = 4 * LANE };

#define X_544 0x154442bd4ll  /* x^(512+32) */
#define X_480 0x1c6e41596ll /* x^(512-32) */
#define X_160 0x1751997d0ll /* x^(128+32) */
#define X_96 0x0ccaa009ell  /* x^(128-32) */
#define X_64 0x163cd6124ll  /* x^64 */
#define P_REVERSED 0x1db710641ll      /* P, reversed in 33 bits */
#define QUOTIENT_REVERSED 0x1f7011641ll /* the quotient x^64 / P, reversed in 33 bits */

#define FOLDING static inline __attribute__((target("pclmul,sse4.1"), always_inline))

FOLDING __m128i load(const uint8_t *bytes) { return _mm_loadu_si128((const __m128i *)bytes); }

/* Shifts the checksum `sum` by the distance that `constants` stand for, and adds the block `next`. */
FOLDING __m128i fold(__m128i sum, __m128i constants, __m128i next)
{
    __m128i high = _mm_clmulepi64_si128(sum, constants, 0x00);
    __m128i low = _mm_clmulepi64_si128(sum, constants, 0x11);
    return _mm_xor_si128(_mm_xor_si128(high, low), next);
}

/*
 * The remainder of 128 bits with 32 zeros behind them. Two steps reduce the sum to 96 and to 64 bits. Then Barrett's
 * reduction multiplies by the quotient instead of dividing by P.
 */
FOLDING uint32_t remainder_of(__m128i sum)
{
    const __m128i lowest_32 = _mm_set_epi32(0, 0, 0, -1);
    const __m128i barrett = _mm_set_epi64x(QUOTIENT_REVERSED, P_REVERSED);
    __m128i quotient;

    sum = _mm_xor_si128(_mm_clmulepi64_si128(sum, _mm_cvtsi64_si128(X_96), 0x00), _mm_srli_si128(sum, 8));
    sum = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(sum, lowest_32), _mm_cvtsi64_si128(X_64), 0x00),
                        _mm_srli_si128(sum, 4));
    quotient = _mm_clmulepi64_si128(_mm_and_si128(sum, lowest_32), barrett, 0x10);
    quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, lowest_32), barrett, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(sum, quotient), 1);
}

/*
 * The CRC of STRIDE or more bytes. A CRC begins with 32 ones and ends inverted. Tables add the bytes behind the lanes.
 */
__attribute__((target("pclmul,sse4.1")))
static uint32_t by_folding(const uint8_t *bytes, size_t size)
{
    const __m128i by_stride = _mm_set_epi64x(X_480, X_544), by_lane = _mm_set_epi64x(X_96, X_160);
    __m128i a = _mm_xor_si128(load(bytes), _mm_cvtsi32_si128(-1)), b = load(bytes + LANE);
    __m128i c = load(bytes + 2 * LANE), d = load(bytes + 3 * LANE);

    for (bytes += STRIDE, size -= STRIDE; size >= STRIDE; bytes += STRIDE, size -= STRIDE) {
        a = fold(a, by_stride, load(bytes));
        b = fold(b, by_stride, load(bytes + LANE));
        c = fold(c, by_stride, load(bytes + 2 * LANE));
        d = fold(d, by_stride, load(bytes + 3 * LANE));
    }
    a = fold(fold(fold(a, by_lane, b), by_lane, c), by_lane, d);
    for (; size >= LANE; bytes += LANE, size -= LANE) a = fold(a, by_lane, load(bytes));
    return by_tables(~remainder_of(a), bytes, size);
}

static bool can_fold(size_t size)
{
    return size >= STRIDE && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}
#else
static uint32_t by_folding(const uint8_t *bytes, size_t size) { return by_tables(0, bytes, size); }
static bool can_fold(size_t size) { return false; }
#endif

static void fill_tables(void)
{
    for (int byte = 0; byte < 256; byte++) {
        uint32_t crc = (uint32_t)byte;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
        tables[0][byte] = crc;
    }
    for (int n = 1; n < 8; n++)
        for (int byte = 0; byte < 256; byte++)
            tables[n][byte] = tables[n - 1][byte] >> 8 ^ tables[0][tables[n - 1][byte] & 0xff];
}

static uint32_t checksum(const uint8_t *bytes, size_t size)
{
    return can_fold(size) ? by_folding(bytes, size) : by_tables(0, bytes, size);
}

/*
 * From this size on a String shares the frame's bytes instead of copying them. Ruby stores shorter Strings within the
 * object (adr/004-frame.md).
 */
enum { SHARED_PAYLOAD_BYTES = 640 };

static VALUE signal_miss, signal_expired, signal_slow, signal_fallback, clock_module;

/* A version that C can write and compare: a String in UTF-8 or US-ASCII. */
typedef struct {
    VALUE string;
    size_t size;
    uint8_t type; /* 0: no version */
} version_part;

static uint8_t encoding_type(VALUE string)
{
    int encoding = rb_enc_get_index(string);
    if (encoding == rb_utf8_encindex()) return FRAME_TYPE_STRING_UTF_8;
    if (encoding == rb_ascii8bit_encindex()) return FRAME_TYPE_STRING_BINARY;
    if (encoding == rb_usascii_encindex()) return FRAME_TYPE_STRING_US_ASCII;
    return 0;
}

/* Returns false for a version that only Ruby can handle. */
static bool read_version(VALUE object, version_part *v)
{
    *v = (version_part){0};
    if (NIL_P(object)) return true;
    if (!RB_TYPE_P(object, T_STRING)) return false;
    v->type = encoding_type(object);
    v->string = object;
    v->size = (size_t)RSTRING_LEN(object);
    return (v->type == FRAME_TYPE_STRING_UTF_8 || v->type == FRAME_TYPE_STRING_US_ASCII) &&
           v->size <= FRAME_MAX_VERSION_BYTES;
}

/* ASK_CALLER: the frame has another version, or tags. ASK_RUBY: a damaged frame, or parts that only Ruby reads. */
enum verdict { SUITS, ASK_CALLER, ASK_RUBY };

static uint32_t get16(const uint8_t *p) { return (uint32_t)(p[0] | p[1] << 8); }

/* Compares versions as Ruby's String#== does. */
static enum verdict check_version(const uint8_t *data, size_t size, VALUE wanted)
{
    uint8_t type;
    version_part v;
    if (size < 1) return ASK_RUBY;
    type = data[0];
    if (type != FRAME_TYPE_STRING_UTF_8 && type != FRAME_TYPE_STRING_US_ASCII) return ASK_RUBY;
    if (NIL_P(wanted)) return SUITS;
    if (!read_version(wanted, &v)) return ASK_RUBY;
    if (v.size != size - 1 || memcmp(RSTRING_PTR(wanted), data + 1, v.size) != 0) return ASK_CALLER;
    return v.type == type || ascii_only(data + 1, v.size) ? SUITS : ASK_RUBY;
}

/* Checks that each tag is complete. Only the caller knows the tags' current generations. */
static enum verdict check_tags(const uint8_t *data, size_t size, bool compared)
{
    while (size) {
        size_t one = size < 2 ? SIZE_MAX : FRAME_TAG_FIXED_BYTES + (size_t)get16(data);
        if (one > size) return ASK_RUBY;
        data += one;
        size -= one;
    }
    return compared ? SUITS : ASK_CALLER;
}

static enum verdict check_part(uint8_t id, const uint8_t *data, size_t size, VALUE wanted, bool tags_compared)
{
    switch (id) {
      case FRAME_PART_VERSION: return check_version(data, size, wanted);
      case FRAME_PART_TAGS: return check_tags(data, size, tags_compared);
      case FRAME_PART_LEASE: return size == FRAME_PART_LEASE_BYTES ? SUITS : ASK_RUBY;
      case FRAME_PART_ENCODING: return ASK_RUBY;
      case FRAME_PART_INFLATED_BYTES: return size == FRAME_PART_INFLATED_BYTES_BYTES ? SUITS : ASK_RUBY;
      case FRAME_PART_STALE: return size == FRAME_PART_STALE_BYTES ? SUITS : ASK_RUBY;
      case FRAME_PART_CREATED_AT: return size == FRAME_PART_CREATED_AT_BYTES ? SUITS : ASK_RUBY;
      default: return id < FRAME_CRITICAL_PARTS ? SUITS : ASK_RUBY;
    }
}

/*
 * Checks the optional parts, and every length in them, because a frame may hold any bytes. SUITS: the version is the
 * wanted one, and there are no tags. Returns ASK_RUBY also if a part is cut off, repeated, of a wrong size, or critical
 * and unknown. tags_compared: the caller has checked the tags.
 */
static enum verdict check_parts(const uint8_t *parts, size_t size, VALUE wanted, bool tags_compared)
{
    enum verdict verdict = SUITS, one;
    uint64_t seen[4] = {0};

    while (size) {
        uint8_t id;
        size_t bytes;
        if (size < FRAME_PART_HEADER_BYTES) return ASK_RUBY;
        id = parts[0];
        bytes = get16(parts + 1);
        if (bytes > size - FRAME_PART_HEADER_BYTES || seen[id >> 6] >> (id & 63) & 1) return ASK_RUBY;
        seen[id >> 6] |= UINT64_C(1) << (id & 63);
        one = check_part(id, parts + FRAME_PART_HEADER_BYTES, bytes, wanted, tags_compared);
        if (one > verdict) verdict = one;
        if (verdict == ASK_RUBY) return verdict;
        parts += FRAME_PART_HEADER_BYTES + bytes;
        size -= FRAME_PART_HEADER_BYTES + bytes;
    }
    return verdict;
}

static size_t parts_bytes(const version_part *v) { return v->type ? FRAME_PART_HEADER_BYTES + 1 + v->size : 0; }

/* The properties of a frame that are known before its payload is encoded. */
typedef struct {
    double expires_at;
    version_part version;
    bool with_checksum;
} planned_frame;

static size_t front_bytes(const planned_frame *planned) { return FRAME_HEADER_BYTES + parts_bytes(&planned->version); }

/* Writes the header and the parts in front of the payload, which is already in its place. */
static void write_front(uint8_t *frame, uint8_t type, size_t payload_bytes, const planned_frame *planned)
{
    const version_part *v = &planned->version;
    size_t parts = parts_bytes(v);
    frame_header header = {.type = type, .parts_bytes = (uint16_t)parts, .payload_bytes = (uint32_t)payload_bytes,
                           .expires_at = planned->expires_at};
    uint64_t words[3];
    if (v->type) {
        uint8_t *part = frame + FRAME_HEADER_BYTES;
        const uint16_t bytes = (uint16_t)(1 + v->size);
        part[0] = FRAME_PART_VERSION;
        memcpy(part + 1, &bytes, sizeof(bytes));
        part[FRAME_PART_HEADER_BYTES] = v->type;
        memcpy(part + FRAME_PART_HEADER_BYTES + 1, RSTRING_PTR(v->string), v->size);
    }
    if (planned->with_checksum) {
        header.flags = FRAME_FLAG_CHECKSUM;
        header.crc32 = checksum(frame + FRAME_HEADER_BYTES, parts + payload_bytes);
    }
    frame_seal(header, words);
    memcpy(frame, words, FRAME_HEADER_BYTES);
}

static VALUE dump_string(VALUE value, const planned_frame *planned, VALUE threshold)
{
    uint8_t type = encoding_type(value);
    size_t size = (size_t)RSTRING_LEN(value), front = front_bytes(planned);
    VALUE frame;
    if (!type || rb_ivar_count(value) != 0 || size > UINT32_MAX) return Qnil;
    if (!NIL_P(threshold) && (!FIXNUM_P(threshold) || (long)size >= FIX2LONG(threshold))) return Qnil;
    frame = rb_str_new(NULL, (long)(front + size));
    memcpy(RSTRING_PTR(frame) + front, RSTRING_PTR(value), size);
    write_front((uint8_t *)RSTRING_PTR(frame), type, size, planned);
    RB_GC_GUARD(value);
    return frame;
}

static VALUE make_plain_frame(buffer *encoded, void *planned)
{
    size_t payload_bytes = encoded->size - front_bytes(planned);
    if (payload_bytes > UINT32_MAX) return Qnil;
    write_front(encoded->data, FRAME_TYPE_PLAIN, payload_bytes, planned);
    return rb_str_new((const char *)encoded->data, (long)encoded->size);
}

/*
 * dump_frame(value, expires_at, version, plain, checksum, threshold): the frame, or nil if Ruby has to make it. Ruby
 * compresses Strings of `threshold` bytes and more.
 */
static VALUE dump_frame(VALUE self, VALUE value, VALUE expires_at, VALUE entry_version, VALUE plain,
                        VALUE with_checksum, VALUE threshold)
{
    planned_frame planned = {.expires_at = NIL_P(expires_at) ? INFINITY : NUM2DBL(expires_at),
                             .with_checksum = RTEST(with_checksum)};
    VALUE frame = Qnil;
    if (!read_version(entry_version, &planned.version)) return Qnil;
    if (RB_TYPE_P(value, T_STRING) && rb_obj_class(value) == rb_cString)
        frame = dump_string(value, &planned, threshold);
    else if (RTEST(plain)) frame = with_plain(value, front_bytes(&planned), make_plain_frame, &planned);
    RB_GC_GUARD(entry_version);
    return frame;
}

static VALUE load_string(VALUE bytes, size_t front, size_t size, int encoding)
{
    VALUE value;
    if (size < SHARED_PAYLOAD_BYTES) value = rb_str_new(RSTRING_PTR(bytes) + front, (long)size);
    else value = rb_str_subseq(bytes, (long)front, (long)size);
    RB_GC_GUARD(bytes);
    rb_enc_associate_index(value, encoding);
    return value;
}

static VALUE load_payload(VALUE bytes, const frame_header *header)
{
    size_t front = FRAME_HEADER_BYTES + (size_t)header->parts_bytes;
    VALUE held, value;
    /* Another thread may have run while the method read Ruby's clock. */
    if ((size_t)RSTRING_LEN(bytes) != front + header->payload_bytes) return signal_fallback;
    switch (header->type) {
      case FRAME_TYPE_STRING_UTF_8: return load_string(bytes, front, header->payload_bytes, rb_utf8_encindex());
      case FRAME_TYPE_STRING_BINARY: return load_string(bytes, front, header->payload_bytes, rb_ascii8bit_encindex());
      case FRAME_TYPE_STRING_US_ASCII: return load_string(bytes, front, header->payload_bytes, rb_usascii_encindex());
      case FRAME_TYPE_PLAIN:
        held = rb_str_new_frozen(bytes);
        value = decode_plain((const uint8_t *)RSTRING_PTR(held) + front, header->payload_bytes);
        RB_GC_GUARD(held);
        return value;
      default: return signal_fallback;
    }
}

/* Returns false if the bytes are not a whole frame of this layout version with a valid header. */
static bool read_header(VALUE bytes, frame_header *header)
{
    uint64_t words[3];
    size_t size = (size_t)RSTRING_LEN(bytes);
    if (size < FRAME_HEADER_BYTES) return false;
    memcpy(words, RSTRING_PTR(bytes), sizeof(words));
    memcpy(header, words, sizeof(words));
    return header->magic == FRAME_MAGIC && header->version == FRAME_VERSION && header->check == frame_check(words) &&
           !isnan(header->expires_at) &&
           size - FRAME_HEADER_BYTES == (size_t)header->parts_bytes + header->payload_bytes;
}

static bool expired(double expires_at, VALUE now)
{
    if (isinf(expires_at)) return expires_at < 0;
    if (NIL_P(now)) now = rb_funcall(clock_module, rb_intern("now"), 0);
    return expires_at <= NUM2DBL(now);
}

/* Returns whether the frame has no checksum or the right one. */
static bool sound(const uint8_t *data, const frame_header *header)
{
    if (!header->flags) return header->crc32 == 0;
    if (header->flags != FRAME_FLAG_CHECKSUM) return false;
    return header->crc32 == checksum(data + FRAME_HEADER_BYTES, (size_t)header->parts_bytes + header->payload_bytes);
}

/*
 * Returns whether C can read the frame's payload. C calls this before it computes the checksum, because Ruby handles
 * all other frames, with their checksums.
 */
static bool for_c(const frame_header *header)
{
    switch (header->type) {
      case FRAME_TYPE_STRING_UTF_8:
      case FRAME_TYPE_STRING_BINARY:
      case FRAME_TYPE_STRING_US_ASCII:
      case FRAME_TYPE_PLAIN:
      case FRAME_TYPE_PLACEHOLDER: return header->compressor == FRAME_COMPRESSOR_NONE;
      default: return false;
    }
}

/*
 * load_frame(bytes, now, version, tags_compared): the value; MISS for a placeholder; EXPIRED; SLOW for another version
 * and for tags; FALLBACK if Ruby has to read the frame. If `now` is nil, the method reads the clock when it needs the
 * time. tags_compared: the caller has found the frame's tags to be current.
 */
static VALUE load_frame(VALUE self, VALUE bytes, VALUE now, VALUE wanted, VALUE tags_compared)
{
    frame_header header;
    const uint8_t *data;
    enum verdict verdict = SUITS;
    Check_Type(bytes, T_STRING);
    data = (const uint8_t *)RSTRING_PTR(bytes);
    if (!read_header(bytes, &header) || !for_c(&header) || !sound(data, &header)) return signal_fallback;
    if (header.parts_bytes)
        verdict = check_parts(data + FRAME_HEADER_BYTES, header.parts_bytes, wanted, RTEST(tags_compared));
    if (verdict == ASK_RUBY) return signal_fallback;
    if (header.type == FRAME_TYPE_PLACEHOLDER) return signal_miss;
    if (expired(header.expires_at, now)) return signal_expired;
    return verdict == SUITS ? load_payload(bytes, &header) : signal_slow;
}

/*
 * unchecked_frame(bytes): checks the frame, and returns it without its checksum. Returns the same String if the frame
 * has no checksum, and nil if the frame has tags or Ruby has to read it.
 */
static VALUE unchecked_frame(VALUE self, VALUE bytes)
{
    frame_header header;
    uint64_t words[3];
    const uint8_t *data;
    VALUE frame;
    Check_Type(bytes, T_STRING);
    data = (const uint8_t *)RSTRING_PTR(bytes);
    if (!read_header(bytes, &header) || !for_c(&header) || header.type == FRAME_TYPE_PLACEHOLDER ||
        !sound(data, &header) || check_parts(data + FRAME_HEADER_BYTES, header.parts_bytes, Qnil, false) != SUITS)
        return Qnil;
    if (!header.flags) return bytes;
    header.flags = 0;
    header.crc32 = 0;
    frame_seal(header, words);
    frame = rb_str_new(RSTRING_PTR(bytes), RSTRING_LEN(bytes));
    memcpy(RSTRING_PTR(frame), words, FRAME_HEADER_BYTES);
    RB_GC_GUARD(bytes);
    return frame;
}

static VALUE constant(VALUE under, const char *name)
{
    VALUE object = rb_const_get(under, rb_intern(name));
    rb_gc_register_mark_object(object);
    return object;
}

void init_frame(VALUE tiercel, VALUE module)
{
    VALUE codec = constant(tiercel, "Codec");
    fill_tables();
    clock_module = constant(tiercel, "Clock");
    signal_miss = constant(codec, "MISS");
    signal_expired = constant(codec, "EXPIRED");
    signal_slow = constant(codec, "SLOW");
    signal_fallback = constant(codec, "FALLBACK");
    rb_define_singleton_method(module, "dump_frame", dump_frame, 6);
    rb_define_singleton_method(module, "load_frame", load_frame, 4);
    rb_define_singleton_method(module, "unchecked_frame", unchecked_frame, 1);
}
