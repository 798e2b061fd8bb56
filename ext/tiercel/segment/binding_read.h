/* One key's read, for those who read many. */
#ifndef TIERCEL_SEGMENT_BINDING_READ_H
#define TIERCEL_SEGMENT_BINDING_READ_H

#include "binding.h"

/* made: the key in this segment, where it is good still, or NULL. What Segment#get gives, and #read. */
typedef VALUE segment_one_read(VALUE self, tseg *segment, VALUE key, const tseg_key *made, VALUE version);
extern segment_one_read *const segment_get_made, *const segment_read_made;

#endif
