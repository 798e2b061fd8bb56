/* The calls that the tests of leases make on one segment. */
#ifndef TIERCEL_TEST_LEASE_CALLS_H
#define TIERCEL_TEST_LEASE_CALLS_H

#include "check.h"

#define KEY "the key"
#define SECOND UINT64_C(1000000000)

static tseg *segment;
static char path[] = "/dev/shm/tiercel-lease-XXXXXX";
static tseg_lease lease;
static uint64_t next_name = 1000;

static inline tseg_result take_for(const char *text, uint64_t name, uint64_t ttl_ns, const tseg_token *replaces)
{
    tseg_key key = key_of(segment, text);
    tseg_lease_request request = {.lineage = name, .holder = name + 1, .ttl_ns = ttl_ns, .replaces = replaces,
                                  .version = 7};
    return PATIENTLY(segment, key.shard, tseg_lease_acquire(segment, &key, &request, time_now, &lease));
}
static inline tseg_result take(const char *text) { return take_for(text, next_name += 2, 10 * SECOND, NULL); }

static inline tseg_result fill(const char *text, uint64_t lineage, const char *bytes)
{
    tseg_key key = key_of(segment, text);
    tseg_value value = value_of(bytes, strlen(bytes));
    return PATIENTLY(segment, key.shard, tseg_lease_fill(segment, &key, lineage, &value, INFINITY, time_now));
}

static inline tseg_result give_back(const char *text, uint64_t lineage, uint64_t holder, uint64_t pause_ns)
{
    tseg_key key = key_of(segment, text);
    return PATIENTLY(segment, key.shard, tseg_lease_release(segment, &key, lineage, holder, pause_ns));
}

static inline tseg_lease_state state_of(const char *text, const tseg_lease *seen)
{
    tseg_key key = key_of(segment, text);
    tseg_lease now;
    return tseg_lease_look(segment, &key, seen->lineage, seen->holder, true, &now);
}

static inline long read_text(const char *text, char *buffer, size_t capacity, tseg_token *token)
{
    tseg_key key = key_of(segment, text);
    long count = read_value(segment, &key, buffer, capacity - 1, token);
    buffer[count < 0 ? 0 : count] = 0;
    return count;
}

static inline bool reads(const char *text, const char *expected)
{
    char buffer[200];
    long count = read_text(text, buffer, sizeof buffer, NULL);
    return expected ? count >= 0 && strcmp(buffer, expected) == 0 : count < 0;
}

static inline void delete_text(const char *text)
{
    tseg_key key = key_of(segment, text);
    delete_key(segment, &key);
}
static inline void set_text(const char *text, const char *bytes)
{
    tseg_key key = key_of(segment, text);
    tseg_value value = value_of(bytes, strlen(bytes));
    CHECK(set_value(segment, &key, &value) == TSEG_OK);
}
static inline void clear_all(void) { tseg_clear_at_once(segment); }

/* Slots of the table that are in use. */
static inline uint64_t used_slots(void)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < segment->geometry.lease_groups; i++)
        count += (uint64_t)__builtin_popcountll(tseg_load(&segment->leases[i].used));
    return count;
}

#endif
