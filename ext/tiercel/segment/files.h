/* Layer "files": the file of a segment, and the attachments of this process. */
#ifndef TIERCEL_SEGMENT_FILES_H
#define TIERCEL_SEGMENT_FILES_H

#include "presence.h"

typedef struct {
    uint64_t bytes;           /* the size of a new file; 0: attach to an existing file, and make none */
    uint64_t smallest_bytes;  /* if less than `bytes` is free, make a smaller file down to this size; 0: fail */
    uint32_t shards;          /* 0: a default for the size */
    uint32_t average_entry_bytes; /* 0: the default */
    mode_t mode;
    const uint64_t *hash_key; /* NULL: random */
    tseg_host *host;          /* NULL: long work runs under the caller's lock */
} tseg_options;

extern _Atomic uint64_t tseg_unmapped; /* the number of segments that this process has unmapped */

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
