/* The monotonic clock at its last tick. It is a few milliseconds late, and cheaper to read than the precise clock. */
#ifndef TIERCEL_SEGMENT_COARSE_CLOCK_H
#define TIERCEL_SEGMENT_COARSE_CLOCK_H

#include "system.h"

#include <time.h>

static inline struct timespec tseg_coarse_time(void)
{
    struct timespec time;
#ifdef TSEG_LINUX
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
#else
    clock_gettime(CLOCK_MONOTONIC, &time);
#endif
    return time;
}

#endif
