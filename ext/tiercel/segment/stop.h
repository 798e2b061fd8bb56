/*
 * Named points where a test build can stop a call, so that another one runs
 * in between. In every other build they are nothing.
 */
#ifndef TIERCEL_SEGMENT_STOP_H
#define TIERCEL_SEGMENT_STOP_H

typedef enum {
    TSEG_STOP_AFTER_FIND,
    TSEG_STOP_AFTER_TAIL,
    TSEG_STOP_AFTER_COPY,
    TSEG_STOP_SEQUENCE_ODD,
    TSEG_STOP_BEFORE_SWAP,
    TSEG_STOP_BEFORE_UNLOCK,
    TSEG_STOP_POINTS
} tseg_stop_point;

#ifdef TSEG_STOP
extern void (*tseg_stop_hook)(tseg_stop_point point);
#define TSEG_STOP_HERE(point)                          \
    do {                                               \
        if (tseg_stop_hook) tseg_stop_hook(point);     \
    } while (0)
#else
#define TSEG_STOP_HERE(point) ((void)0)
#endif

#endif
