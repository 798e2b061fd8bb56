/*
 * The lock file beside a segment. A process opens it once, opens it again after a fork, and marks it as ours. Byte 0 is
 * the lock for making and removing files; each process slot has a byte after it.
 */
#include "files.h"

#include <pthread.h>

/*
 * Forks. A child inherits its parent's open file descriptions, and these keep the parent's locks alive. So the child
 * closes the inherited descriptors and opens the lock files again, even if it never uses a segment.
 */
#define FORK_TRIES 1000

static pthread_mutex_t guard;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local bool guarded; /* this thread forks, and holds the guard */

static void make_guard(void)
{
    pthread_mutexattr_t recursive;

    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&guard, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

/* A thread holds the guard for microseconds. If that thread was stopped, the fork continues after a second. */
static void before_fork(void)
{
    const struct timespec pause = {0, 1000000};

    guarded = false;
    for (int tries = 0; tries < FORK_TRIES && !guarded; tries++) {
        guarded = pthread_mutex_trylock(&guard) == 0;
        if (!guarded) nanosleep(&pause, NULL);
    }
}

static void in_parent(void)
{
    if (guarded) pthread_mutex_unlock(&guard);
}

void tseg_sidecars_renew(void);

/*
 * Allocates nothing, because another thread of the parent may have held the allocator's lock. The child makes a new
 * guard: a recursive mutex identifies its owner by a thread number, which differs in the child.
 */
static void in_child(void)
{
    make_guard();
    if (tseg_forked_marker) *tseg_forked_marker = 0; /* an emulator may accept MADV_WIPEONFORK and ignore it */
    tseg_sidecars_renew();
}

static void prepare(void)
{
    make_guard();
    /* If this fails, a child renews its lock files in its first call. */
    if (pthread_atfork(before_fork, in_parent, in_child) != 0) {}
}

/*
 * Between these two calls no thread of this process forks, so that a child knows every open lock file, and no other
 * thread changes the lists of attachments and lock files. The pairs may be nested. No code of the host runs between
 * them.
 */
void tseg_hold_forks(void)
{
    pthread_once(&once, prepare);
    pthread_mutex_lock(&guard);
}

void tseg_allow_forks(void) { pthread_mutex_unlock(&guard); }

/*
 * Locks on bytes of a lock file. On Linux a lock belongs to the open file description, so it stays when other code of
 * the process opens and closes the file. On other systems a lock belongs to the process, and closing any descriptor of
 * the file drops it: see tseg_sidecar_keep_slot.
 */
#if defined(TSEG_LINUX) && defined(F_OFD_SETLK)
#define SET_COMMAND(sidecar) ((sidecar)->record_locks ? F_SETLK : F_OFD_SETLK)
#define GET_COMMAND(sidecar) ((sidecar)->record_locks ? F_GETLK : F_OFD_GETLK)
#define ONLY_RECORD_LOCKS false
#else
#define SET_COMMAND(sidecar) F_SETLK
#define GET_COMMAND(sidecar) F_GETLK
#define ONLY_RECORD_LOCKS true
#endif

static int call(int descriptor, int command, struct flock *lock, short type, off_t first, off_t count)
{
    int result;

    *lock = (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = first, .l_len = count};
    do result = fcntl(descriptor, command, lock); while (result < 0 && errno == EINTR);
    return result;
}

/* Returns false and sets errno if the byte cannot be locked. */
static bool lock_byte(tseg_sidecar *sidecar, int descriptor, off_t byte)
{
    struct flock lock;

    if (call(descriptor, SET_COMMAND(sidecar), &lock, F_WRLCK, byte, 1) == 0) return true;
    if (errno != EINVAL || sidecar->record_locks) return false;
    sidecar->record_locks = true; /* an old kernel, an emulator, or a file system without such locks */
    return call(descriptor, F_SETLK, &lock, F_WRLCK, byte, 1) == 0;
}

/* Returns whether certainly no other process has locked one of these bytes (count 0: up to the end). */
static bool is_unlocked(const tseg_sidecar *sidecar, off_t first, off_t count)
{
    struct flock lock;

    return call(sidecar->descriptor, GET_COMMAND(sidecar), &lock, F_WRLCK, first, count) == 0 &&
           lock.l_type == F_UNLCK;
}

/* The content of our lock files. The content shows that a damaged file beside the lock file was a segment of ours. */
static const char our_mark[] = "Tiercel: locks of the segment beside this file, layout 3\n";
_Static_assert(TSEG_LAYOUT_VERSION == 3, "the mark names the layout");

static tseg_sidecar *all_sidecars;

static bool is_sidecar(const tseg_sidecar *sidecar, const struct stat *file)
{
    return sidecar->device == file->st_dev && sidecar->inode == file->st_ino;
}

/*
 * Other code of the process may have closed the descriptor (a daemon closes all inherited ones), and its number may
 * belong to another file by now. So every use of the descriptor begins with this check.
 */
static bool is_descriptor_of(const tseg_sidecar *sidecar, int descriptor)
{
    struct stat file;
    return descriptor >= 0 && fstat(descriptor, &file) == 0 && is_sidecar(sidecar, &file);
}

static bool is_whole(const tseg_sidecar *sidecar) { return is_descriptor_of(sidecar, sidecar->descriptor); }

/* Closes the description that has the lock for files, and thereby releases its locks. */
static void close_files(tseg_sidecar *sidecar)
{
    if (is_descriptor_of(sidecar, sidecar->files_descriptor)) close(sidecar->files_descriptor);
    sidecar->files_descriptor = -1;
}

static tseg_sidecar *find_sidecar(const struct stat *file)
{
    tseg_sidecar *sidecar = all_sidecars;
    while (sidecar && !is_sidecar(sidecar, file)) sidecar = sidecar->next;
    return sidecar;
}

static bool acceptable(const char *path, const struct stat *file, tseg_error *error)
{
    if (!S_ISREG(file->st_mode)) return tseg_fail(error, 0, "%s is not a regular file: remove it", path);
    if (file->st_uid != geteuid())
        return tseg_fail(error, EACCES, "%s belongs to user %ld, this process runs as %ld: use another name or path",
                         path, (long)file->st_uid, (long)geteuid());
    if (file->st_nlink > 1)
        return tseg_fail(error, EMLINK, "%s has other names too (hard links): remove it or use another path", path);
    return true;
}

static int open_lock_file(const char *path, int create, mode_t mode, struct stat *file)
{
    int descriptor = open(path, O_RDWR | create | O_NOFOLLOW | O_CLOEXEC, mode);

    if (descriptor < 0 || fstat(descriptor, file) == 0) return descriptor;
    close(descriptor);
    return -1;
}

static tseg_sidecar *remember(int descriptor, const struct stat *file, const char *path, tseg_error *error)
{
    tseg_sidecar *sidecar = calloc(1, sizeof *sidecar);
    char *copy = strdup(path);

    if (!sidecar || !copy) {
        free(sidecar);
        free(copy);
        close(descriptor);
        tseg_fail(error, ENOMEM, "out of memory");
        return NULL;
    }
    *sidecar = (tseg_sidecar){.descriptor = descriptor, .record_locks = ONLY_RECORD_LOCKS, .opened_by = getpid(),
                              .device = file->st_dev, .inode = file->st_ino, .slot = -1, .files_descriptor = -1,
                              .references = 1, .path = copy, .next = all_sidecars};
    all_sidecars = sidecar;
    return sidecar;
}

static tseg_sidecar *find_or_open(const char *path, mode_t mode, bool create, tseg_error *error)
{
    struct stat file;
    tseg_sidecar *sidecar = NULL;
    int descriptor;

    if (lstat(path, &file) == 0) sidecar = find_sidecar(&file);
    if (!sidecar) {
        descriptor = open_lock_file(path, create ? O_CREAT : 0, mode, &file);
        if (descriptor < 0) {
            tseg_fail(error, errno, "%s cannot be opened: %s", path,
                      errno == ELOOP ? "it is a symbolic link, which is refused" : strerror(errno));
            return NULL;
        }
        /* If the path leads to a lock file that is already open, closing the new descriptor would drop record locks. */
        sidecar = find_sidecar(&file);
        if (!sidecar && acceptable(path, &file, error)) return remember(descriptor, &file, path, error);
        if (!sidecar || !sidecar->record_locks) close(descriptor);
    }
    if (sidecar) sidecar->references++;
    return sidecar;
}

tseg_sidecar *tseg_sidecar_open(const char *segment_path, mode_t mode, bool create, tseg_error *error)
{
    char path[PATH_MAX];
    tseg_sidecar *sidecar;

    if ((size_t)snprintf(path, sizeof path, "%s.lock", segment_path) >= sizeof path) {
        tseg_fail(error, ENAMETOOLONG, "%s: the path is too long", segment_path);
        return NULL;
    }
    tseg_hold_forks();
    sidecar = find_or_open(path, mode, create, error);
    tseg_allow_forks();
    return sidecar;
}

void tseg_sidecar_release(tseg_sidecar *sidecar)
{
    tseg_sidecar **link = &all_sidecars;
    bool last;

    if (!sidecar) return;
    tseg_hold_forks();
    last = --sidecar->references == 0;
    while (last && *link != sidecar) link = &(*link)->next;
    if (last) *link = sidecar->next;
    if (last && is_whole(sidecar)) close(sidecar->descriptor);
    if (last && sidecar->proof) munmap(sidecar->proof, TSEG_HEADER_BYTES);
    tseg_allow_forks();
    if (!last) return;
    free(sidecar->path);
    free(sidecar);
}

/* Opens the lock file once more. Returns -1 if the path leads to another file or none. */
static int open_again(tseg_sidecar *sidecar)
{
    struct stat file;
    int descriptor;

    if (lstat(sidecar->path, &file) != 0 || !is_sidecar(sidecar, &file)) return -1;
    descriptor = open_lock_file(sidecar->path, 0, 0, &file);
    if (descriptor >= 0 && is_sidecar(sidecar, &file)) return descriptor;
    if (descriptor < 0) sidecar->refused = errno;
    else if (!find_sidecar(&file)) close(descriptor);
    return -1;
}

static void open_anew(tseg_sidecar *sidecar)
{
    if (!sidecar->proof) sidecar->slot = -1; /* the lock was lost with the descriptor */
    sidecar->descriptor = open_again(sidecar);
}

/*
 * Opens the lock file again if other code has closed its descriptor. Without the proof the process slot is then lost.
 */
void tseg_sidecar_mend(tseg_sidecar *sidecar)
{
    if (is_whole(sidecar)) return;
    tseg_hold_forks();
    open_anew(sidecar);
    tseg_allow_forks();
}

/* Called after a slot's byte was locked. */
static void prove(tseg_sidecar *sidecar)
{
#ifdef MADV_DONTFORK
    if (sidecar->proof || sidecar->record_locks) return;
    tseg_hold_forks(); /* a child must not inherit the mapping, or it would keep this process's locks alive */
    sidecar->proof = mmap(NULL, TSEG_HEADER_BYTES, PROT_NONE, MAP_SHARED, sidecar->descriptor, 0);
    if (sidecar->proof == MAP_FAILED) {
        sidecar->proof = NULL;
    } else if (madvise(sidecar->proof, TSEG_HEADER_BYTES, MADV_DONTFORK) != 0) {
        munmap(sidecar->proof, TSEG_HEADER_BYTES);
        sidecar->proof = NULL;
    }
    tseg_allow_forks();
#else
    (void)sidecar;
#endif
}

/* Opens the lock file again in a child. A child inherits no record locks, so their descriptor can stay open. */
static void renew(tseg_sidecar *sidecar)
{
    bool whole = is_whole(sidecar), stays = whole && sidecar->record_locks;

    if (is_descriptor_of(sidecar, sidecar->files_descriptor) && sidecar->files_descriptor != sidecar->descriptor)
        close(sidecar->files_descriptor);
    sidecar->files_descriptor = -1;
    if (whole && !stays) close(sidecar->descriptor);
    sidecar->slot = -1;
    sidecar->proof = NULL; /* not inherited */
    sidecar->opened_by = getpid();
    if (!stays) open_anew(sidecar);
}

/* Called in a child: closes the parent's open file descriptions, and opens the files again. Allocates nothing. */
void tseg_sidecars_renew(void)
{
    for (tseg_sidecar *sidecar = all_sidecars; sidecar; sidecar = sidecar->next)
        if (sidecar->opened_by != getpid() || !is_whole(sidecar)) renew(sidecar);
}

/* Returns whether the descriptor is closed and the path leads to another file or none. */
bool tseg_sidecar_is_gone(const tseg_sidecar *sidecar)
{
    struct stat file;

    if (is_whole(sidecar)) return false;
    return lstat(sidecar->path, &file) == 0 ? !is_sidecar(sidecar, &file) : errno == ENOENT || errno == ENOTDIR;
}

typedef enum { NO_MARK, OUR_MARK, OTHER_CONTENT } mark_state;
static mark_state read_mark(const tseg_sidecar *sidecar)
{
    char found[sizeof our_mark]; /* with room for one more byte than the mark has */
    ssize_t count = is_whole(sidecar) ? pread(sidecar->descriptor, found, sizeof found, 0) : -1;

    if (count == 0) return NO_MARK;
    return count == sizeof our_mark - 1 && memcmp(found, our_mark, (size_t)count) == 0 ? OUR_MARK : OTHER_CONTENT;
}

/* Returns whether a process with this layout version has marked the file as a lock file. */
bool tseg_sidecar_is_marked(const tseg_sidecar *sidecar) { return read_mark(sidecar) == OUR_MARK; }
/* Returns whether the file has content other than our mark. */
bool tseg_sidecar_is_strange(const tseg_sidecar *sidecar) { return read_mark(sidecar) == OTHER_CONTENT; }

/* On a full volume the file stays without a mark. A damaged segment is then refused, unless it has a default name. */
void tseg_sidecar_mark(const tseg_sidecar *sidecar)
{
    if (read_mark(sidecar) == NO_MARK && pwrite(sidecar->descriptor, our_mark, sizeof our_mark - 1, 0) < 0) {}
}

void tseg_sidecar_unlock_files(tseg_sidecar *sidecar)
{
    struct flock lock;

    if (!sidecar->record_locks) {
        close_files(sidecar);
        return;
    }
    sidecar->files_descriptor = -1;
    if (!is_whole(sidecar)) return;
    call(sidecar->descriptor, F_SETLK, &lock, F_UNLCK, 0, 1);
}

/*
 * Only one thread of a process holds the lock for files, through files_descriptor. This descriptor has its own open
 * file description: the lock then ends with the descriptor, and does not depend on the proof of the process slot.
 * Record locks share the descriptor of the slot instead, because closing any descriptor would drop them.
 */
static bool lock_files(tseg_sidecar *sidecar, tseg_error *error)
{
    if (sidecar->files_descriptor >= 0)
        return tseg_fail(error, EAGAIN, "%s is locked by another thread, which makes or removes the segment",
                         sidecar->path);
    for (int attempt = 0; attempt < 3; attempt++) {
        int descriptor;
        bool locked, shared = sidecar->record_locks;
        if (!is_whole(sidecar))
            return tseg_fail(error, EBADF, "%s was closed by other code", sidecar->path);
        descriptor = shared ? sidecar->descriptor : open_again(sidecar);
        sidecar->files_descriptor = descriptor;
        if (descriptor < 0) return tseg_fail(error, EBADF, "%s cannot be opened again", sidecar->path);
        locked = lock_byte(sidecar, descriptor, 0);
        if (!shared && sidecar->record_locks) { /* this is known only now: try again with the slot's descriptor */
            close_files(sidecar);
            continue;
        }
        if (locked) return true;
        error->code = errno;
        tseg_sidecar_unlock_files(sidecar);
        if (error->code != EACCES && error->code != EAGAIN)
            return tseg_fail(error, error->code, "%s: file locks do not work here: %s", sidecar->path,
                             strerror(error->code));
        if (!is_unlocked(sidecar, 0, 1)) break;
    }
    return tseg_fail(error, EAGAIN, "%s is locked by another process, which makes or removes the segment",
                     sidecar->path);
}

/* Does not wait. If another process has the lock, the error is EAGAIN. */
bool tseg_sidecar_lock_files(tseg_sidecar *sidecar, tseg_error *error)
{
    bool locked;

    tseg_hold_forks();
    locked = lock_files(sidecar, error);
    tseg_allow_forks();
    return locked;
}

bool tseg_sidecar_acquire_slot(tseg_sidecar *sidecar, uint32_t process_slots)
{
    if (sidecar->slot >= 0) return true;
    if (!is_whole(sidecar)) {
        if (!sidecar->refused) sidecar->refused = EBADF;
        return false;
    }
    sidecar->refused = 0;
    for (int slot = 0; sidecar->slot < 0 && !sidecar->refused && slot < (int)process_slots; slot++) {
        if (lock_byte(sidecar, sidecar->descriptor, 1 + slot)) sidecar->slot = slot;
        else if (errno != EACCES && errno != EAGAIN) sidecar->refused = errno;
    }
    if (sidecar->slot >= 0) prove(sidecar);
    return sidecar->slot >= 0;
}

/*
 * Called once a second. Locks the slot's byte again, since other code of the process may have dropped its record lock.
 * If another process has locked the byte in between, the slot is lost.
 */
void tseg_sidecar_keep_slot(tseg_sidecar *sidecar)
{
    if (sidecar->record_locks && sidecar->slot >= 0 && !lock_byte(sidecar, sidecar->descriptor, 1 + sidecar->slot))
        sidecar->slot = -1;
}

/*
 * Returns whether another process has locked the byte of a slot. A process without the lock file declares no other
 * process dead.
 */
bool tseg_sidecar_is_locked(const tseg_sidecar *sidecar, uint32_t slot)
{
    return !is_whole(sidecar) || !is_unlocked(sidecar, 1 + (off_t)slot, 1);
}

/* Returns whether another process has locked the byte of any slot; true if this is unknown. */
bool tseg_sidecar_in_use(const tseg_sidecar *sidecar)
{
    /* The question covers all further bytes, because other layout versions may have more slots. */
    return !is_whole(sidecar) || !is_unlocked(sidecar, 1, 0);
}

/* Registration: a process has a slot in every segment that it uses. A file lock proves that the process is alive. */
tseg *tseg_attachments; /* the list of this process's attachments */

/* Remembers the counts of the slot's earlier owners. */
static void remember_counters(tseg *segment)
{
    for (int i = 0; i < TSEG_PROCESS_COUNTERS; i++)
        segment->counted_before[i] = tseg_load(&segment->self->counters[i]);
}

/* Acquires a process slot and raises its generation, which shows that locks of its former owner are dead. */
void tseg_register(tseg *segment)
{
    struct timespec now;
    uint32_t slot, generation;

    for (uint32_t shard = 0; shard < TSEG_MAX_SHARDS; shard++) tseg_store(&segment->stuck[shard], 0);
    /* No thread of this process holds a lock with its former slot. */
    tseg_store(&segment->owner, 0);
    segment->self = segment->discarded_counts;
    remember_counters(segment);
    if (segment->sidecar && !tseg_sidecar_acquire_slot(segment->sidecar, segment->geometry.process_slots)) return;
    slot = segment->sidecar ? (uint32_t)segment->sidecar->slot : 0;
    if (slot >= segment->geometry.process_slots) return;
    clock_gettime(CLOCK_REALTIME, &now);
    segment->self = &segment->processes[slot];
    do generation = (atomic_fetch_add(&segment->self->generation, 1) + 1) & TSEG_LOCK_GENERATION_MASK;
    while (generation == 0);
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
    atomic_store(&segment->self->pid, (uint32_t)getpid());
    remember_counters(segment);
    tseg_store(&segment->self->attached_at, tseg_bits((double)now.tv_sec));
    TSEG_STOP_HERE(TSEG_STOP_REPAIR);
    tseg_store(&segment->owner, (uint64_t)(slot + 1) | (uint64_t)generation << TSEG_LOCK_GENERATION_SHIFT);
}

/* If another process has acquired this process's slot, and with it the slot's locks, the generation has changed. */
static bool is_registered(tseg *segment)
{
    uint64_t owner, generation;

    tseg_sidecar_mend(segment->sidecar);
    tseg_sidecar_keep_slot(segment->sidecar);
    owner = tseg_load(&segment->owner);
    generation = atomic_load(&segment->self->generation) ^ owner >> TSEG_LOCK_GENERATION_SHIFT;
    return owner && segment->sidecar->slot >= 0 && !(generation & TSEG_LOCK_GENERATION_MASK);
}

/*
 * A new registration declares the locks of the registration before it dead. If threads run calls at the same time, one
 * of them may hold such a lock, so the process loses the right to write instead.
 */
static void register_again(tseg *segment)
{
    if (!atomic_load(&tseg_parallel) || !(tseg_load(&segment->owner) || segment->lost)) return tseg_register(segment);
    segment->lost = true;
    segment->sidecar->refused = ENOLCK;
    tseg_store(&segment->owner, 0);
}

/*
 * Called once a second. Registers the process again if other code has closed the lock file's descriptor, or if no
 * process slot was free before. Returns false if the lock file is gone too. In this case no process can register with
 * the segment any more, so the caller attaches again.
 */
bool tseg_keep_registered(tseg *segment)
{
    tseg_sidecar *sidecar = segment->sidecar;
    bool gone;

    if (!sidecar) return true;
    tseg_hold_forks();
    if (!is_registered(segment)) {
        for (tseg *other = tseg_attachments; other; other = other->next)
            if (other->sidecar == sidecar) register_again(other);
    }
    gone = tseg_sidecar_is_gone(sidecar);
    tseg_allow_forks();
    return !gone;
}

bool tseg_owner_is_dead(const tseg *segment, uint64_t lock_word)
{
    uint64_t slot = (lock_word & TSEG_LOCK_SLOT_MASK) - 1;
    uint64_t generation = (lock_word >> TSEG_LOCK_GENERATION_SHIFT) & TSEG_LOCK_GENERATION_MASK;
    uint64_t ticketless = lock_word & ~(UINT64_MAX << TSEG_LOCK_TICKET_SHIFT);

    /*
     * A thread of this process is the owner. The kernel does not report this, because a process's own file lock looks
     * free to the process.
     */
    if (ticketless == tseg_load(&segment->owner)) return false;
    if (!segment->sidecar || slot >= segment->geometry.process_slots) return true;
    if ((atomic_load(&segment->processes[slot].generation) & TSEG_LOCK_GENERATION_MASK) != generation) return true;
    return (int)slot == segment->sidecar->slot || !tseg_sidecar_is_locked(segment->sidecar, (uint32_t)slot);
}

/* After TSEG_READ_ONLY: the errno of the failed registration; 0 if all process slots were in use. */
int tseg_why_read_only(const tseg *segment) { return segment->sidecar ? segment->sidecar->refused : 0; }

/* Returns the number of registered processes, and stores the pids of the first `capacity` of them. */
int tseg_registered(tseg *segment, uint32_t *pids, int capacity)
{
    int count = 0;

    for (uint32_t slot = 0; slot < segment->geometry.process_slots; slot++) {
        bool own = segment->self == &segment->processes[slot];
        uint32_t pid = atomic_load(&segment->processes[slot].pid);
        if (!pid || (!own && (!segment->sidecar || !tseg_sidecar_is_locked(segment->sidecar, slot)))) continue;
        if (count < capacity) pids[count] = pid;
        count++;
    }
    return count;
}

/*
 * Every call begins with this function, which registers the process again after a fork. The child keeps the counted
 * holds of the parent's waiting threads, so it never unmaps the segments that these threads hold.
 */
void tseg_after_fork(void)
{
    if (!tseg_forked()) return;
    tseg_hold_forks();
    if (tseg_forked()) { /* no other thread came first */
        tseg_sidecars_renew(); /* a fork by a direct system call runs no handlers */
        for (tseg *segment = tseg_attachments; segment; segment = segment->next) {
            segment->warned = segment->lost = false;
            tseg_register(segment);
        }
        tseg_mark_process();
    }
    tseg_allow_forks();
}

/* Called before a lock file is used, because other code may have closed it. */
void tseg_prepare_files(void)
{
    tseg_after_fork();
    tseg_hold_forks();
    for (tseg *segment = tseg_attachments; segment; segment = segment->next) tseg_keep_registered(segment);
    tseg_allow_forks();
}
