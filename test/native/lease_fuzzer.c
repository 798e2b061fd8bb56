/*
 * A libFuzzer target: the input is a series of takes, fills, releases, deletes and writes of a few keys by several
 * callers on one segment. A model records the lineages that have ended: a fill of such a lineage must store nothing.
 */
#include "check.h"
#include "guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KEYS = 24, CALLERS = 6 };

typedef struct {
    uint64_t lineage, holder; /* 0: the caller has no lease */
    unsigned key;
} caller;

typedef struct {
    tseg *segment;
    caller callers[CALLERS];
    uint64_t ended[KEYS];   /* lineages below this number have ended */
    uint64_t next_name;
    uint8_t value[64];
} fuzzed;

static tseg_key key_number(const fuzzed *run, unsigned number)
{
    static char text[16];
    snprintf(text, sizeof text, "key %u", number);
    return key_of(run->segment, text);
}

static void end_lineages(fuzzed *run, unsigned number) { run->ended[number] = run->next_name; }

static void acquire_lease(fuzzed *run, caller *by, unsigned number, uint8_t how)
{
    tseg_key key = key_number(run, number);
    tseg_lease lease;
    tseg_token token;
    bool present = read_value(run->segment, &key, run->value, sizeof run->value, &token) >= 0;
    tseg_lease_request request = {.lineage = run->next_name, .holder = run->next_name + 1,
                                  .ttl_ns = how & 1 ? 1 : UINT64_C(1) << 40, .version = how >> 6,
                                  .replaces = present && how & 2 ? &token : NULL, .drops = how & 4};
    tseg_result result = tseg_lease_acquire(run->segment, &key, &request, time_now, &lease);

    run->next_name += 2;
    CHECK(result == TSEG_OK || result == TSEG_HELD || result == TSEG_PRESENT || result == TSEG_FULL);
    if (result != TSEG_OK) return;
    CHECK(lease.lineage == request.lineage || lease.taken_over || lease.lineage >= run->ended[number]);
    *by = (caller){lease.lineage, request.holder, number};
}

static void fill_lease(fuzzed *run, caller *caller, uint8_t how)
{
    tseg_key key = key_number(run, caller->key);
    tseg_value value = value_of(run->value, how & 63);
    tseg_result result;

    if (!caller->lineage) return;
    result = tseg_lease_fill(run->segment, &key, caller->lineage, &value, INFINITY, time_now);
    CHECK(result == TSEG_OK || result == TSEG_CHANGED);
    CHECK(result != TSEG_OK || caller->lineage >= run->ended[caller->key]);
    if (result == TSEG_OK) end_lineages(run, caller->key); /* the value is stored, so the lineage has ended */
    caller->lineage = 0;
}

static void release_lease(fuzzed *run, caller *caller, uint8_t how)
{
    tseg_key key = key_number(run, caller->key);

    if (!caller->lineage) return;
    tseg_lease_release(run->segment, &key, caller->lineage, caller->holder, how & 1 ? 1000 : 0);
    caller->lineage = 0;
}

static void look_at(fuzzed *run, const caller *caller)
{
    tseg_key key = key_number(run, caller->key);
    tseg_lease lease;

    if (!caller->lineage) return;
    if (tseg_lease_look(run->segment, &key, caller->lineage, caller->holder, true, &lease) != TSEG_LEASE_GONE)
        CHECK(lease.signal);
}

static void take_step(fuzzed *run, const uint8_t *step)
{
    unsigned number = step[1] % KEYS;
    caller *caller = run->callers + step[2] % CALLERS;
    tseg_key key = key_number(run, number);
    tseg_value value = value_of(run->value, step[2] & 63);
    int64_t count;

    switch (step[0] & 15) {
    case 0: case 1: case 2: case 3: acquire_lease(run, caller, number, step[0] >> 4 | step[2] << 4); break;
    case 4: case 5: case 6: fill_lease(run, caller, step[1]); break;
    case 7: release_lease(run, caller, step[1]); break;
    case 8: look_at(run, caller); break;
    case 9: delete_key(run->segment, &key); end_lineages(run, number); break;
    case 10: CHECK(set_value(run->segment, &key, &value) == TSEG_OK); end_lineages(run, number); break;
    case 11:
        if (tseg_increment(run->segment, &key, 1, INFINITY, time_now, &count) == TSEG_OK) end_lineages(run, number);
        break;
    case 12: if (tseg_add(run->segment, &key, &value, INFINITY, time_now) == TSEG_OK) end_lineages(run, number); break;
    case 13:
        tseg_lease_end(run->segment, &key);
        end_lineages(run, number);
        break;
    case 14:
        if (step[1] & 31) break;
        tseg_clear_at_once(run->segment);
        for (number = 0; number < KEYS; number++) end_lineages(run, number);
        break;
    default: CHECK(tseg_lease_count(run->segment) <= TSEG_LEASE_SLOTS * run->segment->geometry.lease_groups);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fuzzed run;

    if (!run.segment) {
        run.segment = attach_or_die(NULL, 1 << 20, 1);
        run.next_name = 2;
    }
    memset(run.callers, 0, sizeof run.callers);
    for (; size >= 3; data += 3, size -= 3) take_step(&run, data);
    tseg_clear_at_once(run.segment);
    for (unsigned number = 0; number < KEYS; number++) end_lineages(&run, number);
    return 0;
}

#ifndef FUZZER
int main(void) { return 0; }
#endif
