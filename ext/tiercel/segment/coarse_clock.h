/* Clocks at their last tick. They are a few milliseconds late, and cheaper to read than the precise clocks. */
#ifndef TIERCEL_SEGMENT_COARSE_CLOCK_H
#define TIERCEL_SEGMENT_COARSE_CLOCK_H

#include "system.h"

#include <time.h>

#ifdef TSEG_LINUX
#define TSEG_COARSE_MONOTONIC CLOCK_MONOTONIC_COARSE
#define TSEG_COARSE_REALTIME CLOCK_REALTIME_COARSE
#else
#define TSEG_COARSE_MONOTONIC CLOCK_MONOTONIC
#define TSEG_COARSE_REALTIME CLOCK_REALTIME
#endif

static inline struct timespec tseg_coarse_time(void)
{
    struct timespec time;

    clock_gettime(TSEG_COARSE_MONOTONIC, &time);
    return time;
}

#endif
