/*
 * Named points where a test build can stop a call, so that another one runs
 * in between. In every other build they are nothing.
 */
#ifndef TIERCEL_SEGMENT_STOP_H
#define TIERCEL_SEGMENT_STOP_H

typedef enum {
    TSEG_STOP_AFTER_FIND,       /* a slot was read and its key compared */
    TSEG_STOP_AFTER_TAIL,       /* a write made room: tails are stored, nothing is written yet */
    TSEG_STOP_AFTER_COPY,       /* a write has its bytes in the log; a read has copied them out */
    TSEG_STOP_SEQUENCE_ODD,     /* in place: begun, not ended */
    TSEG_STOP_BEFORE_SWAP,      /* a write or delete is about to change the slot */
    TSEG_STOP_MOVE_AFTER_TAIL,  /* a re-append has given its bytes up */
    TSEG_STOP_MOVE_AFTER_COPY,  /* a promotion or re-append has its copy */
    TSEG_STOP_MOVE_BEFORE_SWAP, /* and is about to let the slot lead to it */
    TSEG_STOP_BEFORE_LINEAGE,   /* a lease is written down, and is about to stand */
    TSEG_STOP_BEFORE_CONSUME,   /* a fill is published with an odd sequence, its lineage not yet ended */
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
