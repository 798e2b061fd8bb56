/*
 * Named stop points. A test build can stop a call at such a point and run another call in between. Other builds contain
 * no code for them.
 */
#ifndef TIERCEL_SEGMENT_STOP_H
#define TIERCEL_SEGMENT_STOP_H

typedef enum {
    TSEG_STOP_BEFORE_LOCK,      /* a write is about to take the lock of its shard */
    TSEG_STOP_AFTER_FIND,       /* the call has read a slot and compared its key */
    TSEG_STOP_AFTER_TAIL,       /* a write has made room: it has stored the tails, but no byte of the entry yet */
    TSEG_STOP_AFTER_COPY,       /* a write has stored its bytes in the log, or a read has copied them out */
    TSEG_STOP_SEQUENCE_ODD,     /* a write in place has made the sequence odd */
    TSEG_STOP_BEFORE_SWAP,      /* a write or delete is about to change the slot */
    TSEG_STOP_MOVE_AFTER_TAIL,  /* a re-append has released the entry's bytes */
    TSEG_STOP_MOVE_AFTER_COPY,  /* a promotion or re-append has made its copy */
    TSEG_STOP_MOVE_BEFORE_SWAP, /* a promotion or re-append is about to make the slot point to the copy */
    TSEG_STOP_BEFORE_LINEAGE,   /* a new lease is complete except for its lineage */
    TSEG_STOP_BEFORE_CONSUME,   /* a fill is published with an odd sequence, and has not yet ended its lineage */
    TSEG_STOP_REPAIR,           /* before and after each store of a takeover, a reset, a clear or a registration */
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
