/*
 * Entries with tags: whether the generations that their frame has are those that the segment has under the tags' keys.
 * The frame is a copy, and nothing in it is believed.
 */
#include "binding.h"
#include "../frame_layout.h"
#include "read.h"

enum {
    TAGS_PART = 0x02,
    TAGS_PART_HEADER_BYTES = 3, /* u8 id, u16 bytes */
    GENERATION_BYTES = 8,
    TAG_FIXED_BYTES = 2 + GENERATION_BYTES /* u16 bytes of the key, the key, the generation */
};

typedef struct {
    VALUE self;
    const uint8_t *key;
    uint32_t key_bytes;
    uint64_t generation; /* that was found; 0 also where other bytes are there */
    bool found;
} generation_read;

static uint32_t two_bytes(const uint8_t *at) { return (uint32_t)(at[0] | at[1] << 8); }

static void make_tag_key(void *context, const tseg *segment, tseg_key *key)
{
    const generation_read *read = context;
    tseg_make_key(segment, key, read->key, read->key_bytes);
}

static bool ask_tag_time(void *context, tseg_clock *clock, tseg **segment)
{
    return segment_ask_time(((generation_read *)context)->self, clock, segment);
}

static bool take_generation(void *context, const tseg *segment, const tseg_key *key, const tseg_entry *entry,
                            const tseg_clock *clock)
{
    generation_read *read = context;

    (void)segment, (void)key, (void)clock;
    read->found = entry->value_bytes == GENERATION_BYTES;
    if (read->found) tseg_copy_value(entry, &read->generation, 0, GENERATION_BYTES);
    return true;
}

static bool tag_is_current(VALUE self, const uint8_t *key, uint32_t key_bytes, const uint8_t *generation)
{
    generation_read read = {.self = self, .key = key, .key_bytes = key_bytes};
    tseg *segment = segment_current(self);
    tseg_entry entry;
    tseg_key made;

    return tseg_read(&segment, make_tag_key, ask_tag_time, take_generation, &read, &made, &entry) == TSEG_OK &&
           read.found && memcmp(&read.generation, generation, GENERATION_BYTES) == 0;
}

static bool tags_are_current(VALUE self, const uint8_t *tags, size_t bytes)
{
    while (bytes) {
        size_t one = bytes < TAG_FIXED_BYTES ? SIZE_MAX : TAG_FIXED_BYTES + (size_t)two_bytes(tags);
        if (one > bytes) return false;
        if (!tag_is_current(self, tags + 2, two_bytes(tags), tags + one - GENERATION_BYTES)) return false;
        tags += one;
        bytes -= one;
    }
    return true;
}

/* The part TAGS of a frame, its length in *bytes; NULL where there is none, or the parts are cut off. */
static const uint8_t *tags_of(const uint8_t *frame, size_t frame_bytes, size_t *bytes)
{
    size_t left;

    if (frame_bytes < FRAME_HEADER_BYTES || frame[FRAME_OFFSET_MAGIC] != FRAME_MAGIC) return NULL;
    left = two_bytes(frame + FRAME_OFFSET_PARTS_BYTES);
    if (left > frame_bytes - FRAME_HEADER_BYTES) return NULL;
    for (frame += FRAME_HEADER_BYTES; left >= TAGS_PART_HEADER_BYTES; frame += *bytes, left -= *bytes) {
        *bytes = two_bytes(frame + 1);
        if (*bytes > left - TAGS_PART_HEADER_BYTES) return NULL;
        if (*frame == TAGS_PART) return frame + TAGS_PART_HEADER_BYTES;
        *bytes += TAGS_PART_HEADER_BYTES;
    }
    return NULL;
}

/* Segment#tags_current?(frame) -> whether it has tags, and all of them are; the frame is frozen */
static VALUE segment_tags_current(VALUE self, VALUE frame)
{
    const uint8_t *tags;
    size_t bytes;
    bool current;

    Check_Type(frame, T_STRING);
    if (!OBJ_FROZEN(frame)) frame = rb_str_new_frozen(frame);
    tags = tags_of((const uint8_t *)RSTRING_PTR(frame), (size_t)RSTRING_LEN(frame), &bytes);
    current = tags && tags_are_current(self, tags, bytes);
    RB_GC_GUARD(frame);
    return current ? Qtrue : Qfalse;
}

/* Whether the frame is a String as it is, with tags and no other part, uncompressed and without checksum. */
static bool is_tagged_string(const uint8_t *frame, size_t size, const uint8_t **tags, size_t *tags_bytes)
{
    uint64_t header[FRAME_HEADER_BYTES / 8];
    uint32_t parts_bytes;

    if (size < FRAME_HEADER_BYTES) return false;
    memcpy(header, frame, sizeof(header));
    parts_bytes = two_bytes(frame + FRAME_OFFSET_PARTS_BYTES);
    if (frame[FRAME_OFFSET_MAGIC] != FRAME_MAGIC || frame[FRAME_OFFSET_VERSION] != FRAME_VERSION) return false;
    if (frame[FRAME_OFFSET_TYPE] < FRAME_TYPE_STRING_UTF_8 || frame[FRAME_OFFSET_TYPE] > FRAME_TYPE_STRING_US_ASCII)
        return false;
    if (frame[FRAME_OFFSET_COMPRESSOR] || frame[FRAME_OFFSET_FLAGS]) return false;
    if (frame[FRAME_OFFSET_CHECK] != frame_header_check(header)) return false;
    if (header[2] != size - FRAME_HEADER_BYTES - parts_bytes) return false; /* CRC-32, the upper half, is 0 */
    *tags = parts_bytes ? tags_of(frame, size, tags_bytes) : NULL;
    return *tags && *tags_bytes + TAGS_PART_HEADER_BYTES == parts_bytes;
}

VALUE segment_tagged_string(VALUE self, VALUE frame)
{
    size_t size = (size_t)RSTRING_LEN(frame), tags_bytes, front;
    const uint8_t *tags;
    double expires_at;
    VALUE string;

    if (!is_tagged_string((const uint8_t *)RSTRING_PTR(frame), size, &tags, &tags_bytes)) return Qnil;
    memcpy(&expires_at, RSTRING_PTR(frame) + FRAME_OFFSET_EXPIRES_AT, sizeof(expires_at));
    if (expires_at != INFINITY && !(expires_at > segment_now())) return Qnil;
    if (!tags_are_current(self, tags, tags_bytes)) return Qnil;
    front = FRAME_HEADER_BYTES + TAGS_PART_HEADER_BYTES + tags_bytes;
    string = rb_str_subseq(frame, (long)front, (long)(size - front)); /* of a long one it shares the bytes */
    RB_GC_GUARD(frame);
    return string;
}

void segment_init_tags(void)
{
    rb_define_method(tiercel_segment_class, "tags_current?", segment_tags_current, 1);
}
