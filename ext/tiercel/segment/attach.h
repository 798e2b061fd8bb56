/* Shared by the sources that handle files and processes. */
#ifndef TIERCEL_SEGMENT_ATTACH_H
#define TIERCEL_SEGMENT_ATTACH_H

#include "internal.h"

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
    int making; /* descriptor of the file that this process is making; -1: none. A child closes it to free memory. */
    ino_t making_inode;
    char *path;
    struct tseg_sidecar *next;
};

bool tseg_fail(tseg_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* attach.c */
extern tseg *tseg_attachments; /* the list of this process's attachments */

/* registration.c */
void tseg_register(tseg *segment);
void tseg_prepare_files(void); /* called before a lock file is used, because other code may have closed it */

/* forks.c */
void tseg_watch_for_forks(void);
/* Between these two calls no thread of this process forks, so that a child knows every open lock file. */
void tseg_hold_forks(void);
void tseg_allow_forks(void);

/* byte_lock.c. Returns false and sets errno if the byte cannot be locked. */
bool tseg_byte_lock(tseg_sidecar *sidecar, int descriptor, off_t byte);
void tseg_byte_unlock(const tseg_sidecar *sidecar, int descriptor, off_t byte);
typedef enum { TSEG_BYTE_FREE, TSEG_BYTE_LOCKED, TSEG_BYTE_UNKNOWN } tseg_byte_state;
/*
 * Whether another process has locked one of these bytes (count 0: up to the end). *locked is the first locked byte, and
 * *holder the pid of its process; 0 if the pid is unknown.
 */
tseg_byte_state tseg_byte_look(const tseg_sidecar *sidecar, off_t first, off_t count, off_t *locked, pid_t *holder);

/* sidecar.c */
tseg_sidecar *tseg_sidecar_open(const char *segment_path, mode_t mode, bool create, tseg_error *error);
void tseg_sidecar_release(tseg_sidecar *sidecar);
/* Whether the descriptor is still open and leads to the lock file. */
bool tseg_sidecar_is_whole(const tseg_sidecar *sidecar);
/*
 * Opens the lock file again if other code has closed its descriptor. Without the proof the process slot is then lost.
 */
void tseg_sidecar_mend(tseg_sidecar *sidecar);
/* Called after a slot's byte was locked. */
void tseg_sidecar_prove(tseg_sidecar *sidecar);
/* Closes the description that has the lock for files, and thereby releases its locks. */
void tseg_sidecar_close_files(tseg_sidecar *sidecar);
/* Opens the lock file once more. Returns -1 if the path leads to another file or none. */
int tseg_sidecar_open_again(tseg_sidecar *sidecar);
/* Whether the descriptor is closed and the path leads to another file or none. */
bool tseg_sidecar_is_gone(const tseg_sidecar *sidecar);
/* Whether a process with this layout version has marked the file as a lock file. */
bool tseg_sidecar_is_marked(const tseg_sidecar *sidecar);
/* Whether the file has content other than a mark of ours. */
bool tseg_sidecar_is_strange(const tseg_sidecar *sidecar);
void tseg_sidecar_mark(const tseg_sidecar *sidecar);
void tseg_sidecar_set_making(tseg_sidecar *sidecar, int descriptor); /* -1: the file is made */
/* Called in a child: closes the parent's open file descriptions, and opens the files again. Allocates nothing. */
void tseg_sidecars_renew(void);

/* sidecar_locks.c */
/* Does not wait. If another process has the lock, the error is EAGAIN with the holder. */
bool tseg_sidecar_lock_files(tseg_sidecar *sidecar, tseg_error *error);
void tseg_sidecar_unlock_files(tseg_sidecar *sidecar);
bool tseg_sidecar_take_slot(tseg_sidecar *sidecar, uint32_t process_slots);
/*
 * Called once a second. Locks the slot's byte again, since other code of the process may have dropped its record lock.
 * If another process has locked the byte in between, the slot is lost.
 */
void tseg_sidecar_keep_slot(tseg_sidecar *sidecar);
/* Whether another process has locked the byte of a slot; true if this is unknown. */
bool tseg_sidecar_is_locked(const tseg_sidecar *sidecar, uint32_t slot);
/* Whether another process has locked the byte of any slot; true if this is unknown. */
bool tseg_sidecar_in_use(const tseg_sidecar *sidecar);

/* geometry.c */
uint32_t tseg_default_shards(uint64_t bytes);

/* platform.c */
bool tseg_random(void *bytes, size_t count);
bool tseg_boot_id(uint64_t id[2]); /* returns false and zeros if the system has no boot id */
double tseg_booted_at(void);       /* epoch seconds; -infinity if the time is unknown */
/* The reason why a segment cannot lie on the file system of this file; NULL if it can. */
const char *tseg_unfit_file_system(int descriptor);
bool tseg_is_in_memory(const char *directory); /* whether files there take memory, and not room on a disk */
void *tseg_fork_marker(void); /* a byte that the system sets to 0 in a child; NULL: not supported */
void *tseg_map_private(size_t bytes); /* MAP_FAILED: errno has the reason */
/* Cached values may be private, and a segment may be larger than the disk for core files. */
void tseg_leave_out_of_core_files(void *map, size_t bytes);
#define TSEG_FIT_FILE_SYSTEM "use a path on tmpfs (/dev/shm), ext4 or XFS"

/* reserve.c */
/* Runs long work through the host, or directly if there is no host. Returns false if the host was interrupted. */
bool tseg_run(tseg_host *host, tseg_step *step, void *argument);
/* Like tseg_run, for work that must be completed: if the host stops it, it continues without the host. */
void tseg_finish(tseg_host *host, tseg_step *step, void *argument);
/*
 * Returns false and sets errno if the room cannot be reserved. EINTR: the host was interrupted. *lazily: the file is
 * large and lies in memory, so its logs get their memory as they grow; otherwise creating 100 GB takes most of a minute.
 */
bool tseg_allocate_file(int descriptor, uint64_t bytes, tseg_host *host, bool *lazily);
/* Maps a file of at least 2 GB at an address that allows pages of 2 MB. Returns MAP_FAILED and sets errno. */
void *tseg_map_file(int descriptor, size_t bytes);
/* The parts of a lazily allocated file that are used from the start: everything but the logs. */
bool tseg_back_parts(void *map, const tseg_geometry *geometry, tseg_host *host);

/* file.c, leftovers.c, new_file.c */
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
 * Opens a file like tseg_file_open, under the lock for files. Removes leftovers first. Refuses a stale file that has
 * several names (hard links), because other programs may use the other names.
 */
tseg_file_state tseg_file_open_locked(const char *path, const tseg_sidecar *sidecar, tseg_host *host, tseg_file *file,
                                      tseg_error *error);
/* Whether the file's name or the mark in its lock file shows that it was a segment. Its bytes do not matter. */
bool tseg_file_was_ours(const char *path, const tseg_sidecar *sidecar);
/* Removes the unfinished files of processes that were killed. The caller holds the lock for files. */
#define TSEG_NEW_ENDING ".new" /* an unfinished file has the name PATH.PID.RANDOM.new, both numbers in hex */
void tseg_sweep_leftovers(const char *path, tseg_host *host);
/*
 * Returns false if the file at the path is certainly no segment of ours. Called before a lock file is made beside it.
 */
bool tseg_file_may_be(const char *path, tseg_error *error);
/*
 * Makes the file under a temporary name or none, and then links it to its path; if it replaces a file, it retires that
 * file and renames the new one over it. If the volume has no room for two files, it removes a stale file first.
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
