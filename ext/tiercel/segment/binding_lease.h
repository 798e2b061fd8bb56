/* Shared by the calls that take leases and those that wait for them. */
#ifndef TIERCEL_SEGMENT_BINDING_LEASE_H
#define TIERCEL_SEGMENT_BINDING_LEASE_H

#include "binding.h"

/* A lineage or a holder, of a String of 8 bytes. */
uint64_t segment_lease_name(VALUE string);
/* Seconds to nanoseconds; what is negative or no number is 0. */
uint64_t segment_lease_ns(VALUE seconds);

void segment_init_lease_wait(void);

#endif
