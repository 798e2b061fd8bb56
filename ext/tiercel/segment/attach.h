/* Shared by the sources that deal with files and processes. */
#ifndef TIERCEL_SEGMENT_ATTACH_H
#define TIERCEL_SEGMENT_ATTACH_H

#include "internal.h"

/*
 * The lock file beside a segment. A process has one descriptor for each inode, and keeps it open while anything is
 * attached: where the system has record locks only, closing any descriptor of the file drops all of them.
 */
struct tseg_sidecar {
    _Atomic int descriptor; /* -1: lost, and not opened again yet */
    _Atomic bool record_locks; /* its locks belong to the process, not to the open file description */
    _Atomic int slot; /* the byte this process has locked, less one; -1: none */
    pid_t opened_by; /* another process than this one: the description is the parent's, and so are its locks */
    dev_t device;
    ino_t inode;
    int refused; /* errno of what kept this process from locking a byte; 0: other processes have all of them */
    unsigned references;
    int making; /* descriptor of a file in the making, which a child closes: it keeps the file's memory; -1: none */
    ino_t making_inode;
    bool files_locked; /* by a thread of this process, which the lock for files does not tell from the others */
    char *path;
    struct tseg_sidecar *next;
};

bool tseg_fail(tseg_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* attach.c */
extern tseg *tseg_attachments; /* of this process, a list */

/* registration.c */
void tseg_register(tseg *segment);
void tseg_prepare_files(void); /* before anything is done with a lock file, which other code may have closed */

/* forks.c */
void tseg_watch_for_forks(void);
/* Between the two no thread of this process forks, so that a child knows of each lock file that is open. */
void tseg_hold_forks(void);
void tseg_allow_forks(void);

/* byte_lock.c: errno says why not */
bool tseg_byte_lock(tseg_sidecar *sidecar, off_t byte);
void tseg_byte_unlock(const tseg_sidecar *sidecar, off_t byte);
typedef enum { TSEG_BYTE_FREE, TSEG_BYTE_LOCKED, TSEG_BYTE_UNKNOWN } tseg_byte_state;
/* Whether another process has locked one of these bytes (count 0: to the end); the first, and its pid if it has one. */
tseg_byte_state tseg_byte_look(const tseg_sidecar *sidecar, off_t first, off_t count, off_t *locked, pid_t *holder);

/* sidecar.c */
tseg_sidecar *tseg_sidecar_open(const char *segment_path, mode_t mode, bool create, tseg_error *error);
void tseg_sidecar_release(tseg_sidecar *sidecar);
/* Whether its descriptor is still open, and not a stranger's. */
bool tseg_sidecar_is_whole(const tseg_sidecar *sidecar);
/* false: the descriptor was closed by other code, and with it the slot is lost. Opens it anew where that can be. */
bool tseg_sidecar_mend(tseg_sidecar *sidecar);
/* Lost, and its path leads to another file or none. */
bool tseg_sidecar_is_gone(const tseg_sidecar *sidecar);
/* Its content says that this layout of ours made it. */
bool tseg_sidecar_is_marked(const tseg_sidecar *sidecar);
/* Its content is neither nothing nor a mark of ours. */
bool tseg_sidecar_is_strange(const tseg_sidecar *sidecar);
void tseg_sidecar_mark(const tseg_sidecar *sidecar);
void tseg_sidecar_set_making(tseg_sidecar *sidecar, int descriptor); /* -1: none any more */
/* In a child: gives up the parent's open file descriptions, and opens the files anew. Allocates nothing. */
void tseg_sidecars_renew(void);

/* sidecar_locks.c */
/* Does not wait: EAGAIN and the holder where another process has the lock. */
bool tseg_sidecar_lock_files(tseg_sidecar *sidecar, tseg_error *error);
void tseg_sidecar_unlock_files(tseg_sidecar *sidecar);
bool tseg_sidecar_take_slot(tseg_sidecar *sidecar, uint32_t process_slots);
/*
 * Once a second. Locks the slot's byte again where other code of the process may have dropped its record lock; a slot
 * that another process has locked since is lost.
 */
void tseg_sidecar_keep_slot(tseg_sidecar *sidecar);
/* Whether another process has locked the byte of a slot; true where that cannot be told. */
bool tseg_sidecar_is_locked(const tseg_sidecar *sidecar, uint32_t slot);
/* Whether another process has locked any slot's byte; likewise. */
bool tseg_sidecar_in_use(const tseg_sidecar *sidecar);

/* geometry.c */
uint32_t tseg_default_shards(uint64_t bytes);

/* platform.c */
bool tseg_random(void *bytes, size_t count);
bool tseg_boot_id(uint64_t id[2]); /* false, and zeros: it cannot be told here */
double tseg_booted_at(void);       /* epoch seconds by the clocks, -infinity where they do not say */
/* Why a segment cannot lie on the file system of this file; NULL if it can. */
const char *tseg_unfit_file_system(int descriptor);
void *tseg_fork_marker(void); /* a byte that is 0 in a child; NULL: the system has none */
void *tseg_map_private(size_t bytes); /* MAP_FAILED: errno says why */
#define TSEG_FIT_FILE_SYSTEM "use a path on tmpfs (/dev/shm), ext4 or XFS"

/* reserve.c */
/* Lets the host run long work, or runs it where there is no host. false: given up, the caller unwinds. */
bool tseg_run(tseg_host *host, bool (*step)(void *argument, const atomic_bool *stop), void *argument);
/* The same for work that is always done. */
void tseg_finish(tseg_host *host, bool (*step)(void *argument, const atomic_bool *stop), void *argument);
/* errno says why not; EINTR: the host gave up */
bool tseg_allocate_file(int descriptor, uint64_t bytes, tseg_host *host);

/* file.c, leftovers.c, new_file.c */
typedef enum { TSEG_FILE_GOOD, TSEG_FILE_MISSING, TSEG_FILE_STALE, TSEG_FILE_REFUSED } tseg_file_state;
typedef struct {
    void *map;
    size_t bytes;
    dev_t device;
    ino_t inode;
    bool unreadable;    /* stale, and too small to have a header */
    bool damaged;       /* stale, because its bytes are not what was written */
    bool other_version; /* refused, because it has another layout */
    bool ours;          /* its bytes or its lock file prove it; a name alone does not */
    mode_t mode;
    nlink_t links;
    tseg_header header; /* a copy, so that what was checked is what is used */
} tseg_file;
tseg_file_state tseg_file_open(const char *path, const tseg_sidecar *sidecar, tseg_file *file, tseg_error *error);
/*
 * Under the lock for files: sweeps first. Refuses a file that would be replaced or removed but has other names too:
 * other programs may use those.
 */
tseg_file_state tseg_file_open_locked(const char *path, const tseg_sidecar *sidecar, tseg_host *host, tseg_file *file,
                                      tseg_error *error);
/* By its name, or by the mark in its lock file: whatever its bytes are. */
bool tseg_file_was_ours(const char *path, const tseg_sidecar *sidecar);
/* Under the lock for files: removes the files of processes that were killed while they made or replaced the segment. */
#define TSEG_NEW_ENDING ".new" /* a file in the making: PATH.PID.RANDOM.new, both in hex */
void tseg_sweep_leftovers(const char *path, tseg_host *host);
/* false where something at the path is surely no segment of ours. Asked before a lock file is made beside it. */
bool tseg_file_may_be(const char *path, tseg_error *error);
/*
 * Makes the file beside its path, then links it there, or retires what is there and renames over it. What is stale
 * gives way before, where there is no room for two.
 */
bool tseg_file_make(const char *path, tseg_sidecar *sidecar, const tseg_options *options, tseg_file *replaced,
                    bool stale, tseg_error *error);
void tseg_file_close(tseg_file *file);
/* As tseg_file_close, by the host: where nothing else leads to the file, the system frees its memory. */
void tseg_file_close_last(tseg_file *file, tseg_host *host);
int tseg_file_unlink(const char *path, tseg_host *host); /* an errno, or 0 */
void tseg_file_retire(tseg_file *file);
void tseg_file_restore(tseg_file *file); /* the path still leads to it: as it was when it was opened */
void tseg_init_header(tseg_header *header, const tseg_geometry *geometry, const tseg_options *options,
                      const tseg_sidecar *sidecar);
uint64_t tseg_header_check(const tseg_header *header);

#endif
