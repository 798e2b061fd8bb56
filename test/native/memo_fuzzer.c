/*
 * A libFuzzer target: the input chooses the keys to read, overwrite and drop, and changes of the limit. The memo may
 * forget any value at any time. The memo never returns a value kept for another token, and never counts wrongly.
 */
#include "check.h"
#include "guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KEYS = 256 };

typedef struct {
    tseg_memo memo;
    uint32_t version[KEYS]; /* of the entry that the segment would have */
    bool decodes;
} fuzzed;

static uintptr_t value_of_read(uint32_t key, uint32_t version) { return (uintptr_t)key << 32 | version << 1 | 1; }

static void check_memo_counts(const tseg_memo *memo)
{
    uint32_t count = 0;
    uint64_t bytes = 0;

    for (uint32_t at = 0; at < memo->used; at++) {
        if (!memo->slots[at].value) continue;
        count++;
        bytes += tseg_memo_cost(memo->slots[at].bytes);
    }
    CHECK(count == memo->count);
    CHECK(bytes + tseg_memo_memory(memo) == memo->bytes && memo->bytes <= memo->limit_bytes);
    CHECK(memo->used <= memo->capacity);
}

/* The calls of one read, in the order in which the binding makes them. */
static void read_key(fuzzed *run, uint32_t key, uint32_t bytes)
{
    tseg_memo *memo = &run->memo;
    uint64_t hash = tseg_mix((key + 1) * UINT64_C(0x9e3779b97f4a7c15));
    tseg_token token = {1, (uint64_t)key * 64, run->version[key] * 2};
    tseg_memo_candidate candidate = {hash, &token, bytes, run->decodes};
    tseg_key made = {.hash = hash};
    tseg_memo_slot *slot;
    unsigned reads;

    tseg_memo_prefetch(memo, &made, 1);
    slot = tseg_memo_find(memo, hash, &token);
    if (slot) {
        CHECK(slot->value == value_of_read(key, run->version[key]));
        tseg_memo_hit(memo, slot);
    } else if (tseg_memo_wants(memo, &candidate)) {
        reads = tseg_memo_admit(memo, &candidate);
        if (reads) tseg_memo_keep(memo, &candidate, INFINITY, value_of_read(key, run->version[key]), 0, reads);
    }
}

static void take_step(fuzzed *run, const uint8_t *step)
{
    uint32_t key = step[1], count = 1u + step[3];

    switch (step[0] & 15) {
    case 0: run->version[key] = (run->version[key] + 1) & 0x3fffff; break;
    case 1: run->decodes = step[1] & 1; break;
    case 2: tseg_memo_set_limit(&run->memo, (uint64_t)step[1] << (step[2] & 15), 1); break;
    case 5: tseg_memo_resize(&run->memo, (uint64_t)step[1] << (step[2] & 15)); break;
    case 3: tseg_memo_clear(&run->memo); break;
    case 4:
        if (run->memo.count && run->memo.slots[key % run->memo.used].value)
            tseg_memo_drop(&run->memo, key % run->memo.used);
        break;
    default: /* a series of reads of one key, or of neighbouring keys */
        for (uint32_t i = 0; i < count; i++)
            read_key(run, step[0] & 16 ? key : (key + i) % KEYS, ((uint32_t)step[2] << (step[0] >> 5) * 2) + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fuzzed run; /* too large for the stack */

    memset(&run, 0, sizeof run);
    tseg_memo_set_limit(&run.memo, 1 << 20, 1);
    for (; size >= 4; data += 4, size -= 4) {
        take_step(&run, data);
        check_memo_counts(&run.memo);
    }
    tseg_memo_clear(&run.memo);
    CHECK(run.memo.bytes == 0 && run.memo.count == 0);
    return 0;
}

#ifndef FUZZER
int main(void) { return 0; }
#endif
