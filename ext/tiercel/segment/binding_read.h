/* Reads of one key, for the methods that read many keys. */
#ifndef TIERCEL_SEGMENT_BINDING_READ_H
#define TIERCEL_SEGMENT_BINDING_READ_H

#include "binding.h"

/*
 * made: the key in this segment if it is still valid, or NULL. The results are those of Segment#get and Segment#read.
 */
typedef VALUE segment_one_read(VALUE self, tseg *segment, VALUE key, const tseg_key *made, VALUE version);
extern segment_one_read *const segment_get_made, *const segment_read_made;

#endif
