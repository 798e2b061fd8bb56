/*
 * Leases: who computes the value of a key that is not there. They lie beside
 * the logs, where eviction does not reach. docs/memory-model.md, "Leases".
 */
#include <math.h>

#include "change.h"
#include "hash.h"

#define NS_PER_S UINT64_C(1000000000)
/* What is further away was altered from outside. */
#define TSEG_LEASE_MAX_TTL_NS (86400 * NS_PER_S)
/* How long a lineage outlives its lease: ten times the lease's time, and at least a minute; given back, two seconds. */
#define TSEG_LEASE_OUTLIVES 10u
#define TSEG_LEASE_LEAST_KEPT_S 60u
#define TSEG_LEASE_RELEASED_KEPT_S 2u
/* Ending a lineage is tried again where the slot is another lease by now. */
#define TSEG_LEASE_TRIES 64u

static uint64_t hash_again(const tseg *segment, const void *bytes, size_t count)
{
    const uint64_t other_key[2] = {~segment->hash_key[0], segment->hash_key[1]};
    return tseg_siphash(other_key, bytes, count);
}

uint32_t tseg_lease_version(const tseg *segment, const void *bytes, size_t count)
{
    return (uint32_t)hash_again(segment, bytes, count) | 1;
}

static uint32_t check_of(const tseg *segment, const tseg_key *key)
{
    return (uint32_t)(hash_again(segment, key->bytes, key->count) >> 32);
}

static uint32_t load_half(const tseg_half *half) { return atomic_load_explicit(half, memory_order_relaxed); }
static void store_half(tseg_half *half, uint32_t value) { atomic_store_explicit(half, value, memory_order_relaxed); }

/* Somebody sleeps on the slot only if he has raised bit 0 since the last change. */
static void signal_change(tseg_lease_slot *slot)
{
    if (!(atomic_fetch_add(&slot->signal, 2) & 1)) return;
    atomic_fetch_and(&slot->signal, ~UINT32_C(1));
    tseg_wake(&slot->signal);
}

/* false: it was ended, or is another lease by now. */
static bool end_lineage(tseg_lease_slot *slot, uint64_t lineage)
{
    if (!tseg_swap(&slot->lineage, &lineage, 0)) return false;
    signal_change(slot);
    return true;
}

static tseg_lease_slot *next_slot(tseg_lease_group *group, uint64_t *bits)
{
    tseg_lease_slot *slot = &group->slots[__builtin_ctzll(*bits)];
    *bits &= *bits - 1;
    return slot;
}

void tseg_lease_end(const tseg *segment, const tseg_key *key)
{
    tseg_lease_group *group = tseg_lease_group_of(segment, key);
    uint64_t bits = tseg_lease_bits(group, key);

    while (bits) {
        tseg_lease_slot *slot = next_slot(group, &bits);
        for (unsigned attempt = 0; attempt < TSEG_LEASE_TRIES; attempt++) {
            uint64_t lineage = tseg_load_acquire(&slot->lineage);
            if (!lineage || tseg_load(&slot->hash) != key->hash || end_lineage(slot, lineage)) break;
        }
    }
}

/* Ends all of a shard that were taken before this epoch. */
void tseg_lease_end_all(const tseg *segment, uint32_t shard, uint32_t epoch)
{
    tseg_lease_group *group = segment->leases + (uint64_t)shard * segment->shard_lease_groups;

    for (uint32_t i = 0; i < segment->shard_lease_groups; i++, group++) {
        uint64_t bits = tseg_load_acquire(&group->used);
        while (bits) {
            tseg_lease_slot *slot = next_slot(group, &bits);
            for (unsigned attempt = 0; attempt < TSEG_LEASE_TRIES; attempt++) {
                uint64_t lineage = tseg_load_acquire(&slot->lineage);
                if (!lineage || (int32_t)(load_half(&slot->epoch) - epoch) >= 0 || end_lineage(slot, lineage)) break;
            }
        }
    }
}

static void free_slot(tseg_lease_group *group, const tseg_lease_slot *slot)
{
    atomic_fetch_and_explicit(&group->used, ~(UINT64_C(1) << (slot - group->slots)), memory_order_release);
}

/* Nobody needs it any more: its lineage was ended, or outlived its lease for as long as it may, or was cleared. */
static bool is_over(const tseg_lease_slot *slot, uint32_t epoch, uint64_t now_ns)
{
    uint32_t kept_until = load_half(&slot->kept_until), now_s = (uint32_t)(now_ns / NS_PER_S);

    return !tseg_load(&slot->lineage) || load_half(&slot->epoch) != epoch || kept_until <= now_s ||
           kept_until - now_s > (TSEG_LEASE_OUTLIVES + 1) * (uint32_t)(TSEG_LEASE_MAX_TTL_NS / NS_PER_S);
}

void tseg_lease_end_written(tseg_section *section, const tseg_key *key)
{
    tseg_lease_group *group = tseg_lease_group_of(section->segment, key);
    uint64_t bits = tseg_lease_bits(group, key), now_ns = tseg_monotonic_ns();

    tseg_lease_end(section->segment, key);
    while (bits) {
        tseg_lease_slot *slot = next_slot(group, &bits);
        uint64_t lineage = tseg_load_acquire(&slot->lineage);
        if (!is_over(slot, section->epoch, now_ns)) continue;
        if (lineage) end_lineage(slot, lineage);
        free_slot(group, slot);
    }
}

/* The slot of the key's lease; its lineage comes back too, for it may be ended at any time. */
static tseg_lease_slot *find_lease(const tseg *segment, const tseg_key *key, uint32_t epoch, uint64_t *lineage)
{
    tseg_lease_group *group = tseg_lease_group_of(segment, key);
    uint64_t bits = tseg_lease_bits(group, key);
    uint32_t check = bits ? check_of(segment, key) : 0;

    while (bits) {
        tseg_lease_slot *slot = next_slot(group, &bits);
        *lineage = tseg_load_acquire(&slot->lineage);
        if (*lineage && tseg_load(&slot->hash) == key->hash && load_half(&slot->check) == check &&
            load_half(&slot->epoch) == epoch)
            return slot;
    }
    return NULL;
}

static bool has_lapsed(const tseg *segment, const tseg_lease_slot *slot, uint64_t holder, uint64_t now_ns)
{
    uint64_t lapses_ns = tseg_load(&slot->lapses_ns);

    if (lapses_ns <= now_ns || lapses_ns - now_ns > TSEG_LEASE_MAX_TTL_NS) return true;
    return holder != TSEG_LEASE_PAUSED && tseg_owner_is_dead(segment, tseg_load(&slot->owner));
}

static void describe_lease(const tseg_lease_slot *slot, uint64_t lineage, tseg_lease *lease)
{
    lease->lineage = lineage;
    lease->holder = tseg_load_acquire(&slot->holder);
    lease->lapses_ns = tseg_load(&slot->lapses_ns);
    lease->version = load_half(&slot->version);
}

tseg_lease_state tseg_lease_look(const tseg *segment, const tseg_key *key, uint64_t lineage, uint64_t holder,
                                 bool to_wait, tseg_lease *lease)
{
    uint64_t found = 0;
    tseg_lease_slot *slot = find_lease(segment, key, tseg_epoch(segment), &found);

    if (!slot || found != lineage) return TSEG_LEASE_GONE;
    /* Before what it is about: whatever changes after this ends the sleep. */
    lease->signal = &slot->signal;
    lease->signal_seen = to_wait ? atomic_fetch_or(&slot->signal, 1) | 1 : atomic_load(&slot->signal);
    describe_lease(slot, lineage, lease);
    if (tseg_load_acquire(&slot->lineage) != lineage) return TSEG_LEASE_GONE;
    if (lease->holder == TSEG_LEASE_RELEASED || lease->holder == TSEG_LEASE_PAUSED) return TSEG_LEASE_GIVEN_BACK;
    /* Given back, and taken by another one since. */
    if (lease->holder != holder && load_half(&slot->released) == (uint32_t)holder) return TSEG_LEASE_GIVEN_BACK;
    return has_lapsed(segment, slot, lease->holder, tseg_monotonic_ns()) ? TSEG_LEASE_LAPSED : TSEG_LEASE_STANDS;
}

/* How soon a slot may be given to another lease; UINT64_MAX: not at all. */
static uint64_t worth(const tseg *segment, const tseg_lease_slot *slot, uint32_t epoch, uint64_t now_ns)
{
    uint64_t holder = tseg_load(&slot->holder);

    if (is_over(slot, epoch, now_ns)) return 0;
    if (holder == TSEG_LEASE_RELEASED) return 1;
    if (!has_lapsed(segment, slot, holder, now_ns)) return UINT64_MAX;
    return tseg_load(&slot->lapses_ns) / 2 + 2;
}

/* A slot for a new lease: one that is free, or of a lease that is over, given back, or lapsed. */
static tseg_lease_slot *claim_slot(const tseg *segment, tseg_lease_group *group, const tseg_key *key, uint32_t epoch,
                                   uint64_t now_ns)
{
    uint64_t bits = tseg_lease_bits(group, key), free_bits = tseg_lease_window(key) & ~bits, least = UINT64_MAX, lineage;
    tseg_lease_slot *chosen = NULL;

    if (free_bits) return next_slot(group, &free_bits);
    while (bits) {
        tseg_lease_slot *slot = next_slot(group, &bits);
        uint64_t rank = worth(segment, slot, epoch, now_ns);
        if (rank >= least) continue;
        least = rank;
        chosen = slot;
    }
    if (chosen && (lineage = tseg_load_acquire(&chosen->lineage)) != 0) end_lineage(chosen, lineage);
    return chosen;
}

static void write_holder(const tseg *segment, tseg_lease_slot *slot, const tseg_lease_request *request, uint64_t now_ns)
{
    uint64_t ttl_ns = request->ttl_ns < TSEG_LEASE_MAX_TTL_NS ? request->ttl_ns : TSEG_LEASE_MAX_TTL_NS;
    uint64_t kept_s = TSEG_LEASE_OUTLIVES * ttl_ns / NS_PER_S;

    if (kept_s < TSEG_LEASE_LEAST_KEPT_S) kept_s = TSEG_LEASE_LEAST_KEPT_S;
    tseg_store(&slot->owner, segment->owner);
    tseg_store(&slot->lapses_ns, now_ns + ttl_ns);
    store_half(&slot->kept_until, (uint32_t)((now_ns + ttl_ns) / NS_PER_S + 1 + kept_s));
    store_half(&slot->version, request->version);
    tseg_store_release(&slot->holder, request->holder);
}

static tseg_lease_slot *begin_lineage(tseg_section *section, const tseg_key *key, const tseg_lease_request *request,
                                      uint64_t now_ns)
{
    const tseg *segment = section->segment;
    tseg_lease_group *group = tseg_lease_group_of(segment, key);
    tseg_lease_slot *slot = claim_slot(segment, group, key, section->epoch, now_ns);

    if (!slot) return NULL;
    /* Killed before the lineage is there: a slot in use without one, which the next write that comes by frees. */
    atomic_fetch_or(&group->used, UINT64_C(1) << (slot - group->slots));
    tseg_store(&slot->hash, key->hash);
    store_half(&slot->check, check_of(segment, key));
    store_half(&slot->epoch, section->epoch);
    store_half(&slot->released, 0);
    write_holder(segment, slot, request, now_ns);
    TSEG_STOP_HERE(TSEG_STOP_BEFORE_LINEAGE);
    atomic_store(&slot->lineage, request->lineage);
    return slot;
}

/* Goes on with the lineage that is there, if that was not ended meanwhile. */
static bool take_over(tseg_section *section, tseg_lease_slot *slot, const tseg_lease_request *request, uint64_t lineage,
                      uint64_t now_ns)
{
    write_holder(section->segment, slot, request, now_ns);
    TSEG_STOP_HERE(TSEG_STOP_BEFORE_LINEAGE);
    return tseg_load_acquire(&slot->lineage) == lineage;
}

/* What plain reads are to see while the value is computed. */
static tseg_result show(tseg_section *section, const tseg_key *key, const tseg_lease_request *request,
                        const tseg_entry *old)
{
    tseg_change change = {.key = key, .value = request->shown, .expires_at = request->shown_expires_at,
                          .keeps_lease = true};
    uint64_t word = old->word;
    tseg_result result;

    if (request->drops || (request->shown && tseg_too_large(section->segment, &change))) {
        while (tseg_same_entry(word, old->word) && !tseg_swap(old->slot, &word, 0)) {}
        return TSEG_OK;
    }
    if (!request->shown) return TSEG_OK;
    result = tseg_change_entry(section, &change, old);
    return result == TSEG_RETIRED ? result : TSEG_OK;
}

static tseg_result take_lease(tseg_section *section, const tseg_key *key, const tseg_lease_request *request,
                        tseg_lease *lease)
{
    tseg *segment = section->segment;
    uint64_t now_ns = tseg_monotonic_ns(), lineage = 0;
    tseg_lease_slot *slot = find_lease(segment, key, section->epoch, &lineage);
    tseg_entry old;

    if (slot && tseg_load(&slot->holder) != TSEG_LEASE_RELEASED &&
        !has_lapsed(segment, slot, tseg_load(&slot->holder), now_ns)) {
        describe_lease(slot, lineage, lease);
        return TSEG_HELD;
    }
    lease->has_entry = tseg_find(segment, key, &old) == TSEG_OK && tseg_is_live(segment, &old, section->now);
    if (lease->has_entry) {
        tseg_token token = tseg_token_of(segment, &old);
        if (!request->replaces || !tseg_is_same(&token, request->replaces)) return TSEG_PRESENT;
    }
    lease->taken_over = slot && tseg_load(&slot->holder) != TSEG_LEASE_RELEASED;
    if (lease->taken_over) tseg_bump(&segment->self->counters[TSEG_COUNT_LEASE_TAKEOVERS]);
    if (!slot || !take_over(section, slot, request, lineage, now_ns)) {
        slot = begin_lineage(section, key, request, now_ns);
        if (!slot) return TSEG_FULL;
        lineage = request->lineage;
    }
    describe_lease(slot, lineage, lease);
    return lease->has_entry ? show(section, key, request, &old) : TSEG_OK;
}

tseg_result tseg_lease_take(tseg *segment, const tseg_key *key, const tseg_lease_request *request, double now,
                            tseg_lease *lease)
{
    uint32_t epoch = tseg_epoch(segment);
    tseg_section section;
    tseg_result result;

    /* Others are not judged by who may be taken for dead himself. */
    if (tseg_lease_bits(tseg_lease_group_of(segment, key), key)) tseg_keep_registered(segment);
    result = tseg_enter(&section, segment, key->shard, epoch, now);
    if (result != TSEG_OK) return result;
    result = take_lease(&section, key, request, lease);
    tseg_leave(&section);
    if (result == TSEG_OK) tseg_bump(&segment->self->counters[TSEG_COUNT_LEASES_TAKEN]);
    if (result == TSEG_FULL) tseg_bump(&segment->self->counters[TSEG_COUNT_LEASE_FULL]);
    return result;
}

bool tseg_lease_consume(const tseg_change *change)
{
    uint64_t lineage = change->lineage;

    TSEG_STOP_HERE(TSEG_STOP_BEFORE_CONSUME);
    return tseg_swap(&change->lease->lineage, &lineage, 0);
}

static tseg_result refuse_fill(tseg *segment, const tseg_key *key, tseg_lease_slot *slot, uint64_t lineage)
{
    double expires_at;

    if (!end_lineage(slot, lineage)) return TSEG_CHANGED;
    tseg_delete(segment, key, &expires_at);
    return tseg_refuse(segment);
}

tseg_result tseg_lease_fill(tseg *segment, const tseg_key *key, uint64_t lineage, const tseg_value *value,
                            double expires_at, double now)
{
    tseg_change change = {.key = key, .value = value, .expires_at = expires_at, .may_take_empty_slot = true,
                          .published_odd = true, .keeps_lease = true, .lineage = lineage};
    uint32_t epoch = tseg_epoch(segment);
    uint64_t found = 0;
    tseg_section section;
    tseg_entry old;
    tseg_result result = tseg_enter(&section, segment, key->shard, epoch, now);

    if (result != TSEG_OK) return result;
    change.lease = find_lease(segment, key, epoch, &found);
    if (!lineage || !change.lease || found != lineage) result = TSEG_CHANGED;
    else if (tseg_too_large(segment, &change)) result = refuse_fill(segment, key, change.lease, lineage);
    else result = tseg_change_entry(&section, &change, tseg_find(segment, key, &old) == TSEG_OK ? &old : NULL);
    if (result == TSEG_OK) {
        free_slot(tseg_lease_group_of(segment, key), change.lease);
        signal_change(change.lease);
    }
    tseg_leave(&section);
    if (result == TSEG_OK) tseg_count_write(segment);
    if (result == TSEG_CHANGED) tseg_bump(&segment->self->counters[TSEG_COUNT_LEASE_FILLS_LOST]);
    return result;
}

tseg_result tseg_lease_release(tseg *segment, const tseg_key *key, uint64_t lineage, uint64_t holder, uint64_t pause_ns)
{
    uint32_t epoch = tseg_epoch(segment);
    tseg_lease_request request = {.holder = TSEG_LEASE_PAUSED, .ttl_ns = pause_ns};
    uint64_t found = 0, now_ns;
    tseg_lease_slot *slot;
    tseg_section section;
    tseg_result result = tseg_enter(&section, segment, key->shard, epoch, -INFINITY);

    if (result != TSEG_OK) return result;
    now_ns = tseg_monotonic_ns();
    slot = find_lease(segment, key, epoch, &found);
    if (slot && found == lineage && tseg_load(&slot->holder) == holder) {
        store_half(&slot->released, (uint32_t)holder);
        if (pause_ns) {
            request.version = load_half(&slot->version);
            write_holder(segment, slot, &request, now_ns);
        } else {
            store_half(&slot->kept_until, (uint32_t)(now_ns / NS_PER_S + 1 + TSEG_LEASE_RELEASED_KEPT_S));
            tseg_store_release(&slot->holder, TSEG_LEASE_RELEASED);
        }
        signal_change(slot);
    } else {
        result = TSEG_ABSENT;
    }
    tseg_leave(&section);
    return result;
}

uint64_t tseg_lease_count(const tseg *segment)
{
    uint64_t count = 0, now_ns = tseg_monotonic_ns();

    for (uint64_t i = 0; i < segment->geometry.lease_groups; i++) {
        uint64_t bits = tseg_load_acquire(&segment->leases[i].used);
        while (bits) {
            const tseg_lease_slot *slot = next_slot(&segment->leases[i], &bits);
            uint64_t holder = tseg_load(&slot->holder);
            if (!is_over(slot, tseg_epoch(segment), now_ns) && holder != TSEG_LEASE_RELEASED &&
                !has_lapsed(segment, slot, holder, now_ns))
                count++;
        }
    }
    return count;
}
