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

#endif
