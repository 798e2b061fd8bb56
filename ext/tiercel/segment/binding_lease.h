/* Shared by the methods that take leases and those that wait for them. */
#ifndef TIERCEL_SEGMENT_BINDING_LEASE_H
#define TIERCEL_SEGMENT_BINDING_LEASE_H

#include "binding.h"

/* A lineage or a holder from a String of 8 bytes. */
uint64_t segment_lease_name(VALUE string);
/* Converts seconds to nanoseconds. A negative number and NaN become 0. */
uint64_t segment_lease_ns(VALUE seconds);

void segment_init_lease_wait(void);

#endif
