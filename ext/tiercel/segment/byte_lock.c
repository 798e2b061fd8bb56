/*
 * Locks on bytes of a lock file. On Linux a lock belongs to the open file description, so it stays when other code of
 * the process opens and closes the file. On other systems a lock belongs to the process, and closing any descriptor of
 * the file drops it: see tseg_sidecar_keep_slot.
 */
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "attach.h"

#if defined(TSEG_LINUX) && defined(F_OFD_SETLK)
#define SET_COMMAND(sidecar) ((sidecar)->record_locks ? F_SETLK : F_OFD_SETLK)
#define GET_COMMAND(sidecar) ((sidecar)->record_locks ? F_GETLK : F_OFD_GETLK)
#else
#define SET_COMMAND(sidecar) F_SETLK
#define GET_COMMAND(sidecar) F_GETLK
#define ONLY_RECORD_LOCKS 1
#endif

static int call(int descriptor, int command, struct flock *lock, short type, off_t first, off_t count)
{
    int result;

    *lock = (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = first, .l_len = count};
    do result = fcntl(descriptor, command, lock); while (result < 0 && errno == EINTR);
    return result;
}

bool tseg_byte_lock(tseg_sidecar *sidecar, int descriptor, off_t byte)
{
    struct flock lock;

#ifdef ONLY_RECORD_LOCKS
    sidecar->record_locks = true;
#endif
    if (call(descriptor, SET_COMMAND(sidecar), &lock, F_WRLCK, byte, 1) == 0) return true;
    if (errno != EINVAL || sidecar->record_locks) return false;
    sidecar->record_locks = true; /* an old kernel, an emulator, or a file system without such locks */
    return call(descriptor, F_SETLK, &lock, F_WRLCK, byte, 1) == 0;
}

void tseg_byte_unlock(const tseg_sidecar *sidecar, int descriptor, off_t byte)
{
    struct flock lock;
    (void)sidecar;
    call(descriptor, SET_COMMAND(sidecar), &lock, F_UNLCK, byte, 1);
}

tseg_byte_state tseg_byte_look(const tseg_sidecar *sidecar, off_t first, off_t count, off_t *locked, pid_t *holder)
{
    struct flock lock;

    if (call(sidecar->descriptor, GET_COMMAND(sidecar), &lock, F_WRLCK, first, count) < 0) return TSEG_BYTE_UNKNOWN;
    if (lock.l_type == F_UNLCK) return TSEG_BYTE_FREE;
    if (locked) *locked = lock.l_start;
    if (holder) *holder = lock.l_pid > 0 ? lock.l_pid : 0; /* -1: the lock belongs to an open file description */
    return TSEG_BYTE_LOCKED;
}
