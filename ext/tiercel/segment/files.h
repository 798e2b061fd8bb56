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

/* Does not wait for other processes: see EAGAIN in tseg_error. */
tseg *tseg_attach(const char *path, const tseg_options *options, tseg_error *error);
tseg *tseg_attach_private(const tseg_options *options, tseg_error *error);
/* Each attach needs one release, and each hold one let_go. The last of them unmaps the segment. */
void tseg_hold(tseg *segment);
void tseg_let_go(tseg_host *host, tseg *segment);
void tseg_release(tseg *segment);
void tseg_release_by(tseg_host *host, tseg *segment); /* through the host: unmapping is long work if it frees memory */
extern _Atomic uint64_t tseg_unmapped; /* the number of segments that this process has unmapped */
/*
 * Returns false if the path leads to another file or none. The caller attaches again, but does not retire the segment:
 * after a chroot the path leads elsewhere for one process only.
 */
bool tseg_path_is_current(const tseg *segment);
/*
 * Retires and unlinks the file at the path. With only_unused it fails (EBUSY) while a process is registered on the
 * file. Waits for other processes that make or remove the file, unless `host` is NULL.
 */
bool tseg_remove(tseg_host *host, const char *path, bool only_unused, tseg_error *error);
/* Retires the file at the path and replaces it by an empty one. Mode 0: the mode of the old one. */
bool tseg_replace(const char *path, const tseg_options *options, tseg_error *error);

/*
 * Returns false and sets errno if the room cannot be reserved. EINTR: the host was interrupted. *lazily: the file is
 * large and lies in memory, so its logs get their memory as they grow; otherwise creating 100 GB takes most of a
 * minute.
 */
bool tseg_allocate_file(int descriptor, uint64_t bytes, tseg_host *host, bool *lazily);
/* The parts of a lazily allocated file that are used from the start: everything but the logs. */
bool tseg_back_parts(void *map, const tseg_geometry *geometry, tseg_host *host);

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
tseg_file_state tseg_file_open(const char *path, const tseg_sidecar *sidecar, tseg_file *file, tseg_error *error);
/*
 * Opens a file like tseg_file_open, under the lock for files. First removes what a killed maker left. Refuses a stale
 * file that has several names (hard links), because other programs may use the other names.
 */
tseg_file_state tseg_file_open_locked(const char *path, const tseg_sidecar *sidecar, tseg_host *host, tseg_file *file,
                                      tseg_error *error);
/* Returns whether the file's name or the mark in its lock file shows that it was a segment. Its bytes do not matter. */
bool tseg_file_was_ours(const char *path, const tseg_sidecar *sidecar);
/*
 * Returns false if the file at the path is certainly no segment of ours. Called before a lock file is made beside it.
 */
bool tseg_file_may_be(const char *path, tseg_error *error);
/*
 * Makes the file under a temporary name or none, and then links it to its path. If another file is at the path, this
 * retires that file and renames the new file over it. If the volume has no room for two files, it removes a stale file
 * first.
 */
bool tseg_file_make(const char *path, tseg_sidecar *sidecar, const tseg_options *options, tseg_file *replaced,
                    bool stale, tseg_error *error);
void tseg_file_close(tseg_file *file);
/*
 * tseg_file_close through the host: if nothing else refers to the file, the system frees its memory, which takes a long
 * time.
 */
void tseg_file_close_last(tseg_file *file, tseg_host *host);
int tseg_file_unlink(const char *path, tseg_host *host); /* an errno, or 0 */
void tseg_file_retire(tseg_file *file);
void tseg_file_restore(tseg_file *file); /* undoes tseg_file_retire, for a file that stays at its path */
void tseg_init_header(tseg_header *header, const tseg_geometry *geometry, const tseg_options *options,
                      const tseg_sidecar *sidecar, bool lazily);
uint64_t tseg_header_check(const tseg_header *header);

#endif
