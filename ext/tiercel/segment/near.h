/* near.c: a segment in front of a farther tier. */
#ifndef TIERCEL_SEGMENT_NEAR_H
#define TIERCEL_SEGMENT_NEAR_H

#include "internal.h"

uint32_t tseg_near_stripe(const tseg *segment, const tseg_key *key);
/* Whether a writer who has begun may be at work: of the word that tseg_near_epoch gave. No fill is to be made then. */
bool tseg_near_is_changing(uint64_t word);
/* No fill with an earlier epoch is made. */
void tseg_near_raise(tseg *segment, uint32_t stripe);
/*
 * A writer begins before he changes what is behind, deletes his keys here, and ends afterwards. What begin gives is
 * also the epoch for his own near fill, which he makes before the end, and only if he was alone in the stripe.
 */
uint64_t tseg_near_begin(tseg *segment, uint32_t stripe);
bool tseg_near_is_alone(uint64_t begun);
/* false: he took so long that he was held to be dead, and others may have filled: his keys have to be deleted again. */
bool tseg_near_end(tseg *segment, uint32_t stripe, uint64_t begun);

/* The stripes of a change of several keys, one bit each. */
typedef struct {
    uint8_t bits[TSEG_STRIPES / 8];
} tseg_stripe_set;
void tseg_near_mark(const tseg *segment, tseg_stripe_set *set, const tseg_key *key);
void tseg_near_mark_all(tseg_stripe_set *set);
/* A writer's beginning: the file, and each stripe's word. The host keeps it as bytes, which are not believed. */
typedef struct {
    uint64_t stripe, word;
} tseg_begun_stripe;
typedef struct {
    uint64_t file_id, count;
    tseg_begun_stripe stripes[];
} tseg_begun;
size_t tseg_begun_bytes(const tseg *segment, const tseg_stripe_set *set);
/* Begins in each stripe of the set; *begun has room for tseg_begun_bytes. */
void tseg_near_begin_set(tseg *segment, const tseg_stripe_set *set, tseg_begun *begun);
/* Whether so many bytes are what tseg_near_begin_set may have written. */
bool tseg_is_begun(const tseg_begun *begun, size_t bytes);
/* As tseg_near_end, of all stripes. false too where another file was begun in. */
bool tseg_near_end_set(tseg *segment, const tseg_begun *begun);
/* The epoch for the writer's own near fill, XORed with the id of its file. false: there is none. */
bool tseg_near_own_epoch(const tseg_begun *begun, uint64_t *epoch);

#endif
