/* Every operation once, on arbitrary bytes; only crashes, hangs and invalid accesses count. */
#ifndef TIERCEL_TEST_HOSTILE_H
#define TIERCEL_TEST_HOSTILE_H

#include "check.h"

static uint8_t hostile_bytes[70000], hostile_back[2 << 20];
static tseg_token hostile_token;
static tseg_batch hostile_batch;
static tseg_cursor hostile_cursor;
static tseg_lease hostile_lease;

static inline tseg_key hostile_key(const tseg *segment, uint64_t random, char text[64])
{
    snprintf(text, 64, "key %.*u", (int)(random & 31), (unsigned)(random >> 8 & 127));
    return key_of(segment, text);
}

/* Like a caller that cannot wait. */
static inline void hurry(tseg *segment, uint32_t shard, tseg_result result, uint64_t random)
{
    tseg_wait wait = {.ns = random & 1 ? TSEG_LOCK_WAIT_NS : TSEG_LOCK_WAIT_NS - 20000};
    if (result != TSEG_WOULD_WAIT) return;
    wait.word = tseg_load(&tseg_view_of(segment, shard).control->lock);
    wait.word_ns = wait.ns;
    if (tseg_may_wait(segment, shard, &wait)) tseg_watch(segment, shard, &wait);
}

static inline void walk_anything(tseg *segment, uint64_t random)
{
    tseg_result result = tseg_walk(segment, &hostile_cursor, "key ", random & 4, time_now, &hostile_batch);
    hurry(segment, hostile_cursor.shard, result, random >> 3);
    if (result == TSEG_ABSENT) hostile_cursor = (tseg_cursor){0};
}

/* With few names, so that they repeat. */
static inline tseg_result lease_anything(tseg *segment, const tseg_key *key, const tseg_value *value, uint64_t random)
{
    uint64_t name = 1 + (random & 3), ttl_ns = random >> 2 & 1 ? UINT64_MAX : random & 0xffff;
    tseg_lease_request request = {name, name + 8, ttl_ns, (uint32_t)random,
                                  random >> 3 & 1 ? &hostile_token : NULL,
                                  random >> 4 & 1, random >> 5 & 1 ? value : NULL, 2000.0};

    switch (random >> 8 & 7) {
    case 0: return tseg_lease_fill(segment, key, name, value, INFINITY, 1000.0);
    case 1: return tseg_lease_fill(segment, key, hostile_lease.lineage, value, INFINITY, 1000.0);
    case 2: return tseg_lease_release(segment, key, hostile_lease.lineage, hostile_lease.holder, ttl_ns);
    case 3:
        if (tseg_lease_look(segment, key, name, name + 8, random >> 11 & 1, &hostile_lease) != TSEG_LEASE_GONE)
            tseg_sleep(hostile_lease.signal, hostile_lease.signal_seen, 1000);
        return TSEG_OK;
    default: return tseg_lease_acquire(segment, key, &request, 1000.0, &hostile_lease);
    }
}

static inline void call_anything(tseg *segment, uint64_t random)
{
    char text[64];
    int64_t count;
    double ended_at;
    tseg_stats stats;
    tseg_entry entry;
    tseg_result result = TSEG_OK;
    tseg_key key = hostile_key(segment, random >> 8, text);
    tseg_value value = value_of(hostile_bytes, random >> 24 & 31 ? random >> 32 & 1023 : random >> 32 & 0xffff);
    double expires_at = random >> 30 & 1 ? INFINITY : 500.0 + (double)(random >> 40 & 1023), now = 1000.0;
    uint64_t cleared = 0;
    uint32_t shard = key.shard;

    switch (random & 31) {
    case 0: tseg_delete(segment, &key, &ended_at); break;
    case 1: result = tseg_add(segment, &key, &value, expires_at, now); break;
    case 2: result = tseg_compare_and_set(segment, &key, &value, expires_at, now, &hostile_token); break;
    case 3: result = tseg_increment(segment, &key, (int64_t)random, expires_at, now, &count); break;
    case 4: result = tseg_touch(segment, &key, expires_at, now); break;
    case 5:
        result = tseg_near_fill(segment, &key, &value, expires_at, now, tseg_near_epoch(segment, &key));
        break;
    case 6:
        if (random >> 50 & 1) tseg_near_invalidate(segment, &key, &ended_at);
        else if (tseg_near_is_changing(tseg_near_begin(segment, tseg_near_stripe(segment, &key))))
            tseg_near_end(segment, tseg_near_stripe(segment, &key), random);
        break;
    case 7: if (tseg_find(segment, &key, &entry) == TSEG_OK) hostile_token = tseg_token_of(segment, &entry); break;
    case 8: walk_anything(segment, random >> 50); break;
    case 9:
        if (random >> 50 & 15) break;
        shard = (uint32_t)(random >> 54) % segment->geometry.shards;
        result = clear_shard(segment, shard, text, 6, &cleared);
        break;
    case 10:
        if (random >> 50 & 63) break;
        tseg_clear_at_once(segment);
        break;
    case 12:
    case 13:
    case 14: result = lease_anything(segment, &key, &value, random >> 50 ^ random >> 16); break;
    case 11: if (!(random >> 50 & 15)) tseg_collect_stats(segment, &stats); break;
    default:
        if (random & 16) result = tseg_set(segment, &key, &value, expires_at, now);
        else read_value(segment, &key, hostile_back, sizeof hostile_back, &hostile_token);
    }
    hurry(segment, shard, result, random >> 60);
}

/* The first and the last units of a ring, because a false size in a header there reaches beyond the ring first. */
enum { EDGES = 10 };
static inline uint64_t edge_of(const tseg *segment, int log, unsigned which)
{
    uint64_t units = segment->geometry.log_units[log];
    return which < EDGES / 2 ? which : units - (EDGES - which);
}

/* On the lap of the ring on which its bytes count as written. */
static inline uint64_t live_position(const tseg *segment, uint32_t shard, int log, uint64_t offset)
{
    uint64_t units = segment->geometry.log_units[log];
    uint64_t tail = tseg_load(&tseg_view_of(segment, shard).control->tail[log]);
    uint64_t position = tail / units * units + offset;
    return (position < tail ? position + units : position) & TSEG_MAX_POSITION;
}

static inline void plant_slot(tseg *segment, const tseg_key *key, int log, uint64_t offset, unsigned slot)
{
    uint64_t position = live_position(segment, key->shard, log, offset);
    tseg_store(tseg_view_of(segment, key->shard).index + key->bucket[slot >> 3 & 1] + (slot & 7),
               tseg_slot_word(position, log, key->fingerprint, slot >> 4 & 3));
}

/* Lengths that an entry may claim there, with a valid key and check. */
enum { CLAIMS = 8 };
static inline void plant_entry(tseg *segment, const tseg_key *key, int log, uint64_t offset, unsigned claim)
{
    uint64_t rest = segment->geometry.log_units[log] - offset, claimed_units[CLAIMS] = {0, 1, 2, 3, rest, rest + 1,
                                                                                      UINT32_MAX, rest};
    uint64_t units = claimed_units[claim & 7], fits = 2 * rest, words[64] = {0}, room, values[4];
    uint64_t used = TSEG_ENTRY_WORDS + tseg_words(key->count);
    tseg_word *at = tseg_view_of(segment, key->shard).log[log] + offset * 2;

    room = units <= rest && 2 * units > used ? 8 * (2 * units - used) : 0;
    values[0] = room;
    values[1] = room + 1;
    values[2] = room + 8;
    values[3] = UINT32_MAX;
    words[0] = units | (uint64_t)key->count << 32;
    words[1] = (claim >> 5 & 7 ? 2 : 3) | (values[claim >> 3 & 3] & UINT32_MAX) << 32;
    words[2] = tseg_bits(claim >> 8 & 1 ? INFINITY : 2000.0);
    words[3] = live_position(segment, key->shard, log, offset) << 1 | (uint64_t)log;
    words[4] = (uint64_t)tseg_entry_check(words[0], words[3]) << 32 | tseg_epoch(segment);
    memcpy(words + TSEG_ENTRY_WORDS, key->bytes, key->count);
    for (uint64_t i = 0; i < used && i < fits; i++) tseg_store(at + i, words[i]);
}

/* A lease of a key, with an invalid word. */
static inline void plant_lease(tseg *segment, const tseg_key *key, uint64_t random)
{
    tseg_lease_group *group = tseg_lease_group_of(segment, key);
    tseg_lease_slot *slot = &group->slots[(key->hash + (random & 15)) % TSEG_LEASE_SLOTS];
    uint64_t odd[4] = {0, UINT64_MAX, random << 20, tseg_monotonic_ns() + (random & 0xffffff)};

    tseg_store(&slot->hash, key->hash);
    tseg_store(&slot->lineage, 1 + (random >> 4 & 3));
    tseg_store((tseg_word *)slot + (random >> 6 & 7), odd[random >> 9 & 3]);
    atomic_fetch_or(&group->used, random >> 11 & 1 ? UINT64_MAX : UINT64_C(1) << (slot - group->slots));
}

/* A slot at an edge, usually with an entry; or the log's head and tail there. */
static inline void plant_anything(tseg *segment, uint64_t random)
{
    char text[64];
    tseg_key key = hostile_key(segment, random, text);
    int log = random >> 16 & 1;
    uint64_t offset = edge_of(segment, log, (unsigned)(random >> 17) % EDGES);
    tseg_shard *control = tseg_view_of(segment, key.shard).control;

    switch (random >> 24 & 7) {
    case 0: tseg_store(&control->head[log], live_position(segment, key.shard, log, offset)); break;
    case 1: tseg_store(&control->tail[log], live_position(segment, key.shard, log, offset)); break;
    case 2: tseg_store(&control->changing, tseg_slot_word(live_position(segment, key.shard, log, offset), log,
                                                          key.fingerprint, 0)); break;
    case 3: plant_slot(segment, &key, log, offset, (unsigned)(random >> 27)); break;
    case 4: plant_lease(segment, &key, random >> 27); break;
    default:
        plant_entry(segment, &key, log, offset, (unsigned)(random >> 32));
        plant_slot(segment, &key, log, offset, (unsigned)(random >> 27));
    }
}

#endif
