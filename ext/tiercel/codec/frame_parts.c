/* Reads the optional parts of a frame. It checks every length, because a frame may hold any bytes. */
#include "ascii.h"
#include "codec.h"
#include "frame.h"
#include "frame_parts.h"

/* Compares versions as Ruby's String#== does. */
static enum frame_verdict check_version(const uint8_t *data, size_t size, VALUE wanted)
{
    uint8_t type;
    frame_version v;
    if (size < 1) return ASK_RUBY;
    type = data[0];
    if (type != FRAME_TYPE_STRING_UTF_8 && type != FRAME_TYPE_STRING_US_ASCII) return ASK_RUBY;
    if (NIL_P(wanted)) return SUITS;
    if (!frame_read_version(wanted, &v)) return ASK_RUBY;
    if (v.size != size - 1 || memcmp(RSTRING_PTR(wanted), data + 1, v.size) != 0) return ASK_CALLER;
    return v.type == type || ascii_only(data + 1, v.size) ? SUITS : ASK_RUBY;
}

/* Checks that each tag is complete. Only the caller knows the tags' current generations. */
static enum frame_verdict check_tags(const uint8_t *data, size_t size, bool compared)
{
    while (size) {
        size_t one = size < 2 ? SIZE_MAX : FRAME_TAG_FIXED_BYTES + (size_t)frame_get16(data);
        if (one > size) return ASK_RUBY;
        data += one;
        size -= one;
    }
    return compared ? SUITS : ASK_CALLER;
}

static enum frame_verdict check_part(uint8_t id, const uint8_t *data, size_t size, VALUE wanted, bool tags_compared)
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

enum frame_verdict frame_check_parts(const uint8_t *parts, size_t size, VALUE wanted, bool tags_compared)
{
    enum frame_verdict verdict = SUITS, one;
    uint64_t seen[4] = {0};

    while (size) {
        uint8_t id;
        size_t bytes;
        if (size < FRAME_PART_HEADER_BYTES) return ASK_RUBY;
        id = parts[0];
        bytes = frame_get16(parts + 1);
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
