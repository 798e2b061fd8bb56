/*
 * Layers "presence", "file" and "attach": the lock file of a segment, its file, and the attachments of this process. A
 * process has a slot in each segment that it uses, and proves that it is alive by locking the slot's byte in the lock
 * file.
 */
#ifndef TIERCEL_SEGMENT_FILES_H
#define TIERCEL_SEGMENT_FILES_H

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
     * alive when other code closes the descriptor. A child does not inherit the page. NULL: only the descriptor keeps
     * the locks.
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

typedef struct {
    uint64_t bytes;           /* the size of a new file; 0: attach to an existing file, and make none */
    uint64_t smallest_bytes;  /* if less than `bytes` is free, make a smaller file down to this size; 0: fail */
    uint32_t shards;          /* 0: a default for the size */
    uint32_t average_entry_bytes; /* 0: the default */
    mode_t mode;
    const uint64_t *hash_key; /* NULL: random */
    tseg_host *host;          /* NULL: long work runs under the caller's lock */
} tseg_options;

typedef enum { TSEG_FILE_GOOD, TSEG_FILE_MISSING, TSEG_FILE_STALE, TSEG_FILE_REFUSED } tseg_file_state;
typedef struct {
    void *map;
    size_t bytes;
    dev_t device;
    ino_t inode;
    bool unreadable;    /* stale: too small for a header */
    bool damaged;       /* stale: no process of ours can have written this header */
    bool other_version; /* refused: the file has another layout version */
    bool ours;          /* its bytes or its lock file prove that it is a segment of ours; its name alone does not */
    mode_t mode;
    nlink_t links;
    tseg_header header; /* a checked copy, since other processes may change the file's header */
} tseg_file;

#endif
