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

enum {
    TAGS_BATCH = 16,    /* so many tags are asked for at once */
    SHARED_BYTES = 8192 /* from here on the String shares the bytes of its frame: moving them would cost more */
};

typedef struct {
    VALUE self;
    const tseg_key *made; /* for the first try, or NULL */
    const uint8_t *key;
    uint32_t key_bytes;
    uint64_t generation; /* that was found; 0 also where other bytes are there */
    bool found;
} generation_read;

static uint32_t two_bytes(const uint8_t *at) { return (uint32_t)(at[0] | at[1] << 8); }

static void make_tag_key(void *context, const tseg *segment, tseg_key *key)
{
    generation_read *read = context;

    if (read->made) *key = *read->made;
    else tseg_make_key(segment, key, read->key, read->key_bytes);
    read->made = NULL;
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

typedef struct {
    const tseg *segment;
    uint64_t unmapped; /* as it was when the keys were made */
    tseg_key keys[TAGS_BATCH];
} tags_batch;

/* The key is followed by the generation. */
static bool tag_is_current(VALUE self, const tags_batch *batch, const tseg_key *made)
{
    tseg *segment = segment_current(self);
    bool good = segment == batch->segment && batch->unmapped == tseg_unmapped;
    generation_read read = {.self = self, .made = good ? made : NULL, .key = made->bytes, .key_bytes = made->count};
    tseg_entry entry;
    tseg_key key;

    return tseg_read(&segment, make_tag_key, ask_tag_time, take_generation, &read, &key, &entry) == TSEG_OK &&
           read.found && memcmp(&read.generation, read.key + read.key_bytes, GENERATION_BYTES) == 0;
}

/* Makes the keys of the next tags. How many; 0 where the part is cut off. */
static unsigned next_tags(VALUE self, tags_batch *batch, const uint8_t **tags, size_t *bytes)
{
    unsigned count = 0;

    batch->segment = segment_current(self);
    batch->unmapped = tseg_unmapped;
    while (*bytes && count < TAGS_BATCH) {
        size_t one = *bytes < TAG_FIXED_BYTES ? SIZE_MAX : TAG_FIXED_BYTES + (size_t)two_bytes(*tags);
        if (one > *bytes) return 0;
        tseg_make_key(batch->segment, batch->keys + count++, *tags + 2, two_bytes(*tags));
        *tags += one;
        *bytes -= one;
    }
    tseg_prefetch(batch->segment, batch->keys, count);
    return count;
}

static bool tags_are_current(VALUE self, const uint8_t *tags, size_t bytes)
{
    tags_batch batch;

    while (bytes) {
        unsigned count = next_tags(self, &batch, &tags, &bytes);
        if (!count) return false;
        for (unsigned i = 0; i < count; i++)
            if (!tag_is_current(self, &batch, batch.keys + i)) return false;
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

    if (!is_tagged_string((const uint8_t *)RSTRING_PTR(frame), size, &tags, &tags_bytes)) return Qnil;
    memcpy(&expires_at, RSTRING_PTR(frame) + FRAME_OFFSET_EXPIRES_AT, sizeof(expires_at));
    if (expires_at != INFINITY && !(expires_at > segment_now())) return Qnil;
    if (!tags_are_current(self, tags, tags_bytes)) return Qnil;
    front = FRAME_HEADER_BYTES + TAGS_PART_HEADER_BYTES + tags_bytes;
    if (size >= SHARED_BYTES) return rb_str_subseq(rb_obj_freeze(frame), (long)front, (long)(size - front));
    memmove(RSTRING_PTR(frame), RSTRING_PTR(frame) + front, size - front);
    rb_str_set_len(frame, (long)(size - front));
    return frame;
}

void segment_init_tags(void)
{
    rb_define_method(tiercel_segment_class, "tags_current?", segment_tags_current, 1);
}
