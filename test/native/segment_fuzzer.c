/*
 * A libFuzzer target: the input chooses the bytes of a segment to change, the entries at the edges of its logs, and
 * the calls to make.
 */
#include "guard.h"
#include "hostile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tseg *segment;
    static uint8_t *fresh;
    static size_t used;

    if (!segment) {
        uint64_t random_state = 7;
        segment = attach_or_die(NULL, 1 << 20, 1);
        for (int i = 0; i < 3000; i++) call_anything(segment, next_random(&random_state));
        used = segment->map_bytes;
        fresh = malloc(used);
        memcpy(fresh, segment->map, used);
    }
    memcpy(segment->map, fresh, used);
    for (; size >= 12; data += 12, size -= 12) {
        uint64_t call, where;
        memcpy(&call, data, 8);
        where = data[8] | (uint64_t)data[9] << 8 | (uint64_t)(data[10] & 15) << 16;
        if (data[10] & 128) plant_anything(segment, (call ^ where << 40) * UINT64_C(0x9e3779b97f4a7c15) ^ data[11]);
        else ((volatile uint8_t *)segment->map)[where % used] = data[11];
        call_anything(segment, call);
        call_anything(segment, call >> 7);
    }
    return 0;
}

#ifndef FUZZER
int main(void) { return 0; }
#endif
