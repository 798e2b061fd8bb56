/*
 * Frames of Strings and plain data, with or without a version. Ruby handles the rarer cases: other encodings,
 * compression, damage, and writing tags. dump_frame then returns nil, and load_frame returns FALLBACK.
 */
#include "ascii.h"
#include "codec.h"
#include "crc32.h"
#include "frame.h"
#include "frame_parts.h"

/*
 * From this size on a String shares the frame's bytes instead of copying them. Ruby stores shorter Strings within the
 * object (adr/004-frame.md).
 */
enum { SHARED_PAYLOAD_BYTES = 640 };

static VALUE signal_miss, signal_expired, signal_slow, signal_fallback, clock_module;
static ID id_now;

static size_t parts_bytes(const frame_version *v) { return v->type ? FRAME_PART_HEADER_BYTES + 1 + v->size : 0; }

/* Writes the header and the parts in front of the payload, which is already in its place. */
static void write_front(uint8_t *frame, uint8_t type, size_t payload_bytes, double expires_at, const frame_version *v,
                        bool with_checksum)
{
    size_t parts = parts_bytes(v);
    frame_header header = {
        .type = type,
        .compressor = FRAME_COMPRESSOR_NONE,
        .flags = with_checksum ? FRAME_FLAG_CHECKSUM : 0,
        .parts_bytes = (uint16_t)parts,
        .payload_bytes = (uint32_t)payload_bytes,
        .expires_at = expires_at,
    };
    if (v->type) {
        uint8_t *part = frame + FRAME_HEADER_BYTES;
        part[0] = FRAME_PART_VERSION;
        frame_put16(part + 1, (uint16_t)(1 + v->size));
        part[FRAME_PART_HEADER_BYTES] = v->type;
        memcpy(part + FRAME_PART_HEADER_BYTES + 1, RSTRING_PTR(v->string), v->size);
    }
    if (with_checksum) header.crc = crc32_update(0, frame + FRAME_HEADER_BYTES, parts + payload_bytes);
    frame_write_header(frame, &header);
}

static VALUE dump_string(VALUE value, double expires_at, const frame_version *v, bool with_checksum, VALUE threshold)
{
    uint8_t type = frame_encoding_type(value);
    size_t size = (size_t)RSTRING_LEN(value);
    size_t front = FRAME_HEADER_BYTES + parts_bytes(v);
    VALUE frame;
    if (!type || rb_ivar_count(value) != 0 || size > FRAME_MAX_PAYLOAD_BYTES) return Qnil;
    if (!NIL_P(threshold) && (!FIXNUM_P(threshold) || (long)size >= FIX2LONG(threshold))) return Qnil;
    frame = rb_str_new(NULL, (long)(front + size));
    memcpy(RSTRING_PTR(frame) + front, RSTRING_PTR(value), size);
    write_front((uint8_t *)RSTRING_PTR(frame), type, size, expires_at, v, with_checksum);
    RB_GC_GUARD(value);
    return frame;
}

/* The properties of a frame that are known before its payload is encoded. */
typedef struct {
    double expires_at;
    const frame_version *version;
    bool with_checksum;
} plain_frame;

static VALUE make_plain_frame(buffer *encoded, void *context)
{
    const plain_frame *frame = context;
    size_t payload_bytes = encoded->size - FRAME_HEADER_BYTES - parts_bytes(frame->version);
    if (payload_bytes > FRAME_MAX_PAYLOAD_BYTES) return Qnil;
    write_front(encoded->data, FRAME_TYPE_PLAIN, payload_bytes, frame->expires_at, frame->version,
                frame->with_checksum);
    return rb_str_new((const char *)encoded->data, (long)encoded->size);
}

/*
 * dump_frame(value, expires_at, version, plain, checksum, threshold): the frame, or nil if Ruby has to make it. Ruby
 * compresses Strings of `threshold` bytes and more.
 */
static VALUE dump_frame(VALUE self, VALUE value, VALUE expires_at, VALUE entry_version, VALUE plain,
                        VALUE with_checksum, VALUE threshold)
{
    double end = NIL_P(expires_at) ? INFINITY : NUM2DBL(expires_at);
    VALUE frame = Qnil;
    frame_version v;
    if ((RTEST(with_checksum) && !crc32_available()) || !frame_read_version(entry_version, &v)) return Qnil;
    if (RB_TYPE_P(value, T_STRING) && rb_obj_class(value) == rb_cString) {
        frame = dump_string(value, end, &v, RTEST(with_checksum), threshold);
    }
    else if (RTEST(plain)) {
        plain_frame context = {.expires_at = end, .version = &v, .with_checksum = RTEST(with_checksum)};
        frame = with_plain(value, FRAME_HEADER_BYTES + parts_bytes(&v), make_plain_frame, &context);
    }
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

static bool expired(double expires_at, VALUE now)
{
    if (isinf(expires_at)) return expires_at < 0;
    if (NIL_P(now)) now = rb_funcall(clock_module, id_now, 0);
    return expires_at <= NUM2DBL(now);
}

/*
 * Returns whether the frame has no checksum or the right one. Returns false too if this build cannot compute checksums.
 */
static bool sound(const uint8_t *data, const frame_header *header)
{
    if (!header->flags) return header->crc == 0;
    if (header->flags != FRAME_FLAG_CHECKSUM || !crc32_available()) return false;
    return header->crc ==
           crc32_update(0, data + FRAME_HEADER_BYTES, (size_t)header->parts_bytes + header->payload_bytes);
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
 * load_frame(bytes, now, version): the value; MISS for a placeholder; EXPIRED; SLOW for another version and for tags;
 * FALLBACK if Ruby has to read the frame. If `now` is nil, the method reads the clock when it needs the time.
 */
static VALUE load(VALUE bytes, VALUE now, VALUE wanted, bool tags_compared)
{
    frame_header header;
    const uint8_t *data;
    enum frame_verdict verdict = SUITS;
    Check_Type(bytes, T_STRING);
    data = (const uint8_t *)RSTRING_PTR(bytes);
    if (!frame_read_header(data, (size_t)RSTRING_LEN(bytes), &header)) return signal_fallback;
    if (!for_c(&header) || !sound(data, &header)) return signal_fallback;
    if (header.parts_bytes)
        verdict = frame_check_parts(data + FRAME_HEADER_BYTES, header.parts_bytes, wanted, tags_compared);
    if (verdict == ASK_RUBY) return signal_fallback;
    if (header.type == FRAME_TYPE_PLACEHOLDER) return signal_miss;
    if (expired(header.expires_at, now)) return signal_expired;
    return verdict == SUITS ? load_payload(bytes, &header) : signal_slow;
}

static VALUE load_frame(VALUE self, VALUE bytes, VALUE now, VALUE wanted) { return load(bytes, now, wanted, false); }

/* load_tagged_frame: the same for a frame whose tags the caller has found to be current. */
static VALUE load_tagged_frame(VALUE self, VALUE bytes, VALUE now, VALUE wanted)
{
    return load(bytes, now, wanted, true);
}

/*
 * unchecked_frame(bytes): the frame without its checksum, after a check. A frame without one comes back as the same
 * String. nil if the frame has tags, or if Ruby has to read it.
 */
static VALUE unchecked_frame(VALUE self, VALUE bytes)
{
    frame_header header;
    const uint8_t *data;
    VALUE frame;
    Check_Type(bytes, T_STRING);
    data = (const uint8_t *)RSTRING_PTR(bytes);
    if (!frame_read_header(data, (size_t)RSTRING_LEN(bytes), &header) || !for_c(&header) ||
        header.type == FRAME_TYPE_PLACEHOLDER || !sound(data, &header) ||
        frame_check_parts(data + FRAME_HEADER_BYTES, header.parts_bytes, Qnil, false) != SUITS)
        return Qnil;
    if (!header.flags) return bytes;
    header.flags = 0;
    header.crc = 0;
    frame = rb_str_new(RSTRING_PTR(bytes), RSTRING_LEN(bytes));
    frame_write_header((uint8_t *)RSTRING_PTR(frame), &header);
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
    clock_module = constant(tiercel, "Clock");
    signal_miss = constant(codec, "MISS");
    signal_expired = constant(codec, "EXPIRED");
    signal_slow = constant(codec, "SLOW");
    signal_fallback = constant(codec, "FALLBACK");
    id_now = rb_intern("now");
    rb_define_singleton_method(module, "dump_frame", dump_frame, 6);
    rb_define_singleton_method(module, "load_frame", load_frame, 3);
    rb_define_singleton_method(module, "load_tagged_frame", load_tagged_frame, 3);
    rb_define_singleton_method(module, "unchecked_frame", unchecked_frame, 1);
    rb_define_const(module, "CHECKSUM", crc32_available() ? Qtrue : Qfalse);
}
