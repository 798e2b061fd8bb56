/*
 * Layer "presence": which processes use a segment, and which of them are alive. A process has a slot, and locks the
 * slot's byte in the lock file.
 */
#ifndef TIERCEL_SEGMENT_PRESENCE_H
#define TIERCEL_SEGMENT_PRESENCE_H

#include "format.h"

/*
 * The lock file ("sidecar") beside a segment. A process has one descriptor for each lock file, and keeps it open while
 * the segment is attached. On a system that has only record locks, closing any descriptor of the file would drop all
 * locks.
 */
struct tseg_sidecar {
    _Atomic int descriptor; /* -1: other code has closed it, and it is not open again yet */
    _Atomic bool record_locks; /* the locks belong to the process, not to the open file description */
    _Atomic int slot; /* the process slot, whose byte this process has locked; -1: none */
    /*
     * A mapped page of the lock file, which nothing reads. The mapping keeps the open file description and its locks
     * alive when other code closes the descriptor. A child does not inherit it. NULL: the descriptor alone keeps them.
     */
    void *proof;
    _Atomic int files_descriptor; /* has the lock for files, in a description of its own; -1: not locked */
    pid_t opened_by; /* in a child this may be the parent; the description and its locks are then the parent's */
    dev_t device;
    ino_t inode;
    int refused; /* errno of the failed attempt to lock a byte; 0: other processes have locked all bytes */
    unsigned references;
    char *path;
    struct tseg_sidecar *next;
};

extern tseg *tseg_attachments; /* the list of this process's attachments */
/*
 * Whether threads of this process run calls at the same time, each under a host's lock of its own, as Ractors do. Calls
 * then remember no generations of tags (tags.c), and a lost process slot is not replaced (registration.c). Never unset.
 */
extern atomic_bool tseg_parallel;

extern volatile char *_Atomic tseg_forked_marker; /* 0 in a child that has not noticed the fork; NULL: the pid tells */

#endif
