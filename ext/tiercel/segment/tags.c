/* Reads the current generations of an entry's tags, and compares them with those in its frame. */
#include "tags.h"
#include "../frame_layout.h"
#include "read.h"

typedef struct {
    const tseg_key *made;
    const tseg_clock *clock;
    uint64_t generation;
    bool found;       /* false: the tag's key holds other bytes than a generation */
    bool needs_time;
} generation_read;

static uint32_t two_bytes(const uint8_t *at) { return (uint32_t)(at[0] | at[1] << 8); }

static const uint8_t *part_among(const uint8_t *parts, size_t parts_bytes, int id, size_t *bytes)
{
    for (size_t part_bytes; parts_bytes >= FRAME_PART_HEADER_BYTES; parts += part_bytes, parts_bytes -= part_bytes) {
        *bytes = two_bytes(parts + 1);
        part_bytes = FRAME_PART_HEADER_BYTES + *bytes;
        if (part_bytes > parts_bytes) return NULL;
        if (*parts == id) return parts + FRAME_PART_HEADER_BYTES;
    }
    return NULL;
}

const uint8_t *tseg_part_of(const uint8_t *frame, size_t frame_bytes, int id, size_t *bytes)
{
    size_t parts_bytes;

    if (frame_bytes < FRAME_HEADER_BYTES || frame[FRAME_OFFSET_MAGIC] != FRAME_MAGIC) return NULL;
    parts_bytes = two_bytes(frame + FRAME_OFFSET_PARTS_BYTES);
    if (parts_bytes > frame_bytes - FRAME_HEADER_BYTES) return NULL;
    return part_among(frame + FRAME_HEADER_BYTES, parts_bytes, id, bytes);
}

const uint8_t *tseg_tags_among(const uint8_t *parts, size_t parts_bytes, size_t *bytes)
{
    return part_among(parts, parts_bytes, FRAME_PART_TAGS, bytes);
}

const uint8_t *tseg_tags_of(const uint8_t *frame, size_t frame_bytes, size_t *bytes)
{
    return tseg_part_of(frame, frame_bytes, FRAME_PART_TAGS, bytes);
}

/* Makes the keys of the next tags. If the part is cut off, it computes no key, although bytes are left. */
static void make_keys(tseg_tags *tags, const tseg *segment)
{
    tags->count = 0;
    while (tags->left && tags->count < TSEG_TAGS_BATCH) {
        size_t bytes = FRAME_TAG_FIXED_BYTES;
        if (tags->left >= bytes) bytes += two_bytes(tags->next);
        if (tags->left < bytes) {
            tags->count = 0;
            return;
        }
        tseg_make_key(segment, tags->keys + tags->count++, tags->next + 2, two_bytes(tags->next));
        tags->next += bytes;
        tags->left -= bytes;
    }
    tseg_prefetch_buckets(segment, tags->keys, tags->count);
}

void tseg_tags_begin(tseg_tags *tags, const tseg *segment, const uint8_t *part, size_t bytes)
{
    tags->next = part;
    tags->left = bytes;
    make_keys(tags, segment);
}

static void take_made_key(void *context, const tseg *segment, tseg_key *key)
{
    (void)segment;
    *key = *((generation_read *)context)->made;
}

static bool tell_time(void *context, tseg_clock *clock, tseg **segment)
{
    generation_read *read = context;

    (void)segment;
    *clock = *read->clock;
    read->needs_time = !clock->known;
    return clock->known;
}

static bool take_generation(void *context, tseg *segment, const tseg_key *key, const tseg_entry *entry,
                            const tseg_clock *clock)
{
    generation_read *read = context;

    (void)segment, (void)key, (void)clock;
    read->found = entry->value_bytes == TSEG_GENERATION_BYTES;
    if (read->found) read->generation = tseg_load(entry->value);
    return true;
}

/* Compares the tag's current generation with the one that follows the key in the frame. */
static tseg_tags_answer compare(tseg *segment, const tseg_key *made, const tseg_clock *clock)
{
    generation_read read = {.made = made, .clock = clock};
    tseg_entry entry;
    tseg_key key;

    if (tseg_read(&segment, take_made_key, tell_time, take_generation, &read, &key, &entry) != TSEG_OK)
        return read.needs_time ? TSEG_TAGS_NEED_TIME : TSEG_TAGS_OUTDATED;
    return read.found && memcmp(&read.generation, made->bytes + made->count, TSEG_GENERATION_BYTES) == 0
               ? TSEG_TAGS_CURRENT
               : TSEG_TAGS_OUTDATED;
}

tseg_tags_answer tseg_tags_finish(tseg_tags *tags, tseg *segment, const tseg_clock *clock)
{
    for (; tags->count; make_keys(tags, segment)) {
        tseg_prefetch_entries(segment, tags->keys, tags->count);
        for (unsigned i = 0; i < tags->count; i++) {
            tseg_tags_answer answer = compare(segment, tags->keys + i, clock);
            if (answer != TSEG_TAGS_CURRENT) return answer;
        }
    }
    return tags->left ? TSEG_TAGS_OUTDATED : TSEG_TAGS_CURRENT;
}

bool tseg_tags_are_current(tseg *segment, const uint8_t *part, size_t bytes, tseg_time_function *ask_time,
                           void *context)
{
    tseg_clock clock = {false, 0};
    tseg_tags_answer answer;
    tseg_tags tags;

    for (;;) {
        tseg_tags_begin(&tags, segment, part, bytes);
        answer = tseg_tags_finish(&tags, segment, &clock);
        if (answer != TSEG_TAGS_NEED_TIME) return answer == TSEG_TAGS_CURRENT;
        ask_time(context, &clock, &segment);
    }
}
