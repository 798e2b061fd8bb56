/*
 * A set of object addresses: a hash table with open addressing. A new round empties the set, so a small walk does not
 * have to clear a large table.
 */
#ifndef TIERCEL_IDENTITY_SET_H
#define TIERCEL_IDENTITY_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { IDENTITY_SET_FIRST = 1024, IDENTITY_SET_KEPT = 16 * 1024 };

typedef struct {
    uintptr_t address;
    uintptr_t round;
} identity_slot;

typedef struct {
    identity_slot *slots;
    size_t capacity; /* a power of two */
    size_t count;
    uintptr_t round;
} identity_set;

static inline void identity_set_start(identity_set *set)
{
    if (set->capacity > IDENTITY_SET_KEPT) {
        free(set->slots);
        *set = (identity_set){0};
    }
    set->count = 0;
    set->round++;
}

static inline size_t identity_set_at(const identity_set *set, uintptr_t address)
{
    uint64_t hash = (uint64_t)(address >> 3) * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(hash >> 32) & (set->capacity - 1);
}

static inline void identity_set_put(identity_set *set, uintptr_t address)
{
    size_t at = identity_set_at(set, address);
    while (set->slots[at].round == set->round) at = (at + 1) & (set->capacity - 1);
    set->slots[at] = (identity_slot){address, set->round};
    set->count++;
}

static inline bool identity_set_grow(identity_set *set)
{
    identity_set larger = {.capacity = set->capacity ? set->capacity * 4 : IDENTITY_SET_FIRST, .round = 1};
    larger.slots = calloc(larger.capacity, sizeof(identity_slot));
    if (!larger.slots) return false;
    for (size_t at = 0; at < set->capacity; at++) {
        if (set->slots[at].round == set->round) identity_set_put(&larger, set->slots[at].address);
    }
    free(set->slots);
    *set = larger;
    return true;
}

/* Adds an address. Returns false if the set has it already, or without memory. */
static inline bool identity_set_add(identity_set *set, uintptr_t address)
{
    size_t at;
    if (set->count * 2 >= set->capacity && !identity_set_grow(set)) return false;
    at = identity_set_at(set, address);
    while (set->slots[at].round == set->round) {
        if (set->slots[at].address == address) return false;
        at = (at + 1) & (set->capacity - 1);
    }
    set->slots[at] = (identity_slot){address, set->round};
    set->count++;
    return true;
}

#endif
