/*
 * A libFuzzer target: bytes that the host keeps for the core, which trusts none of them: the tags of a frame, and
 * the state that a near writer has begun. A frame may count as current only if a simple decoder agrees.
 */
#include "../../ext/tiercel/frame_layout.h"
#include "check.h"
#include "guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TAGS = 4, NAME_BYTES = 2, TAG_BYTES = 2 + NAME_BYTES + TSEG_GENERATION_BYTES };

static tseg *segment;
static tseg_key keys[TAGS];

/* Tag i has the name "t", i and the generation of eight times that digit; the last one has none. */
static void begin(void)
{
    static const char names[TAGS][NAME_BYTES + 1] = {"t0", "t1", "t2", "t3"};

    segment = attach_or_die(NULL, 4 << 20, 1);
    for (int i = 0; i < TAGS; i++) {
        uint8_t generation[TSEG_GENERATION_BYTES];
        tseg_value value = value_of(generation, sizeof generation);
        memset(generation, '0' + i, sizeof generation);
        tseg_make_key(segment, keys + i, names[i], NAME_BYTES);
        if (i < TAGS - 1) CHECK(set_value(segment, keys + i, &value) == TSEG_OK);
    }
}

/* A simple decoder: complete tags, each with one of our names and its generation. */
static bool is_current(const uint8_t *part, size_t bytes)
{
    for (; bytes >= TAG_BYTES; part += TAG_BYTES, bytes -= TAG_BYTES) {
        bool ours = part[0] == NAME_BYTES && !part[1] && part[2] == 't' && part[3] >= '0' && part[3] < '0' + TAGS - 1;
        if (!ours) return false;
        for (int i = 0; i < TSEG_GENERATION_BYTES; i++)
            if (part[2 + NAME_BYTES + i] != part[3]) return false;
    }
    return bytes == 0;
}

static void ask(const uint8_t *part, size_t bytes)
{
    tseg_clock clock = {true, time_now};
    tseg_tags tags;
    bool current;

    tseg_tags_begin(&tags, segment, part, bytes);
    current = tseg_tags_finish(&tags, segment, &clock) == TSEG_TAGS_CURRENT;
    CHECK(current == is_current(part, bytes));
}

/* Uses the frame's actual length of parts, or the length that the bytes claim. */
static void ask_frame(uint8_t *frame, size_t size, bool fits)
{
    const uint8_t *part;
    size_t bytes;

    if (size >= FRAME_HEADER_BYTES && fits) {
        uint16_t parts = (uint16_t)(size - FRAME_HEADER_BYTES);
        frame[0] = FRAME_MAGIC;
        memcpy(frame + offsetof(frame_header, parts_bytes), &parts, sizeof parts);
    }
    part = tseg_part_of(frame, size, FRAME_PART_TAGS, &bytes);
    if (!part) return;
    CHECK(part >= frame + FRAME_HEADER_BYTES && bytes <= size - (size_t)(part - frame));
    ask(part, bytes);
}

static void end_begun(const uint8_t *data, size_t size)
{
    tseg_begun *begun = malloc(size ? size : 1); /* of the exact size, so that a sanitizer sees reads beyond it */
    uint64_t epoch;

    memcpy(begun, data, size);
    if (tseg_is_begun(begun, size)) {
        begun->file_id = segment->file_id;
        tseg_near_end_set(segment, begun);
        if (tseg_near_own_epoch(begun, &epoch)) CHECK(begun->count == 1);
    }
    free(begun);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy;

    if (!segment) begin();
    if (!size) return 0;
    copy = malloc(size - 1 ? size - 1 : 1);
    memcpy(copy, data + 1, size - 1);
    switch (data[0] % 4) {
    case 0: ask(copy, size - 1); break;
    case 1: ask_frame(copy, size - 1, false); break;
    case 2: ask_frame(copy, size - 1, true); break;
    default: end_begun(copy, size - 1);
    }
    free(copy);
    return 0;
}

#ifndef FUZZER
int main(void) { return 0; }
#endif
