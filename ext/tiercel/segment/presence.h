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

void tseg_register(tseg *segment);
void tseg_prepare_files(void); /* called before a lock file is used, because other code may have closed it */

extern volatile char *_Atomic tseg_forked_marker; /* 0 in a child that has not noticed the fork; NULL: the pid tells */
void tseg_watch_for_forks(void);
/*
 * Between these two calls no thread of this process forks, so that a child knows every open lock file, and no other
 * thread changes the lists of attachments and lock files. They may be nested. No code of the host runs between them.
 */
void tseg_hold_forks(void);
void tseg_allow_forks(void);

tseg_sidecar *tseg_sidecar_open(const char *segment_path, mode_t mode, bool create, tseg_error *error);
void tseg_sidecar_release(tseg_sidecar *sidecar);
/*
 * Opens the lock file again if other code has closed its descriptor. Without the proof the process slot is then lost.
 */
void tseg_sidecar_mend(tseg_sidecar *sidecar);
/* Returns whether the descriptor is closed and the path leads to another file or none. */
bool tseg_sidecar_is_gone(const tseg_sidecar *sidecar);
/* Returns whether a process with this layout version has marked the file as a lock file. */
bool tseg_sidecar_is_marked(const tseg_sidecar *sidecar);
/* Returns whether the file has content other than a mark of ours. */
bool tseg_sidecar_is_strange(const tseg_sidecar *sidecar);
void tseg_sidecar_mark(const tseg_sidecar *sidecar);
/* Called in a child: closes the parent's open file descriptions, and opens the files again. Allocates nothing. */
void tseg_sidecars_renew(void);

/* Does not wait. If another process has the lock, the error is EAGAIN. */
bool tseg_sidecar_lock_files(tseg_sidecar *sidecar, tseg_error *error);
void tseg_sidecar_unlock_files(tseg_sidecar *sidecar);
bool tseg_sidecar_take_slot(tseg_sidecar *sidecar, uint32_t process_slots);
/*
 * Called once a second. Locks the slot's byte again, since other code of the process may have dropped its record lock.
 * If another process has locked the byte in between, the slot is lost.
 */
void tseg_sidecar_keep_slot(tseg_sidecar *sidecar);
/* Returns whether another process has locked the byte of a slot; true if this is unknown. */
bool tseg_sidecar_is_locked(const tseg_sidecar *sidecar, uint32_t slot);
/* Returns whether another process has locked the byte of any slot; true if this is unknown. */
bool tseg_sidecar_in_use(const tseg_sidecar *sidecar);

/* A call begins with this: it registers the process again after a fork. */
void tseg_after_fork(void);
bool tseg_forked(void);
/*
 * Called once a second. Registers the process again if other code has closed the lock file's descriptor, or if no
 * process slot was free before. Returns false if the lock file is gone too. In this case no process can register with
 * the segment any more, so the caller attaches again.
 */
bool tseg_keep_registered(tseg *segment);
/* After TSEG_READ_ONLY: the errno of the failed registration; 0 if all process slots were in use. */
int tseg_why_read_only(const tseg *segment);
/* Returns the number of registered processes, and stores the pids of the first `capacity` of them. */
int tseg_registered(tseg *segment, uint32_t *pids, int capacity);

bool tseg_owner_is_dead(const tseg *segment, uint64_t lock_word);

#endif
