/*
 * The locks in the lock file: byte 0 is the lock for making and removing files; each process slot has a byte after it.
 */
#include "system.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"

/*
 * A process that makes or removes files also locks the byte at this offset plus its pid, so that messages can name it.
 */
#define TSEG_MAKER_AT ((off_t)1 << 30)

/* The pid of the process that holds the lock for files; 0: unknown. */
static pid_t maker(const tseg_sidecar *sidecar)
{
    off_t byte;
    bool found = tseg_byte_look(sidecar, TSEG_MAKER_AT, 0, &byte, NULL) == TSEG_BYTE_LOCKED;
    return found ? (pid_t)(byte - TSEG_MAKER_AT) : 0;
}

bool tseg_sidecar_lock_files(tseg_sidecar *sidecar, tseg_error *error)
{
    char pid[32] = "";

    if (sidecar->files_locked) error->holder = getpid();
    if (sidecar->files_locked)
        return tseg_fail(error, EAGAIN, "%s is locked by another thread, which makes or removes the segment",
                         sidecar->path);
    for (int attempt = 0; attempt < 3; attempt++) {
        pid_t holder = 0;
        if (!tseg_sidecar_is_whole(sidecar))
            return tseg_fail(error, EBADF, "%s was closed by other code", sidecar->path);
        sidecar->files_locked = tseg_byte_lock(sidecar, 0);
        if (sidecar->files_locked) {
            tseg_byte_lock(sidecar, TSEG_MAKER_AT + getpid());
            return true;
        }
        if (errno != EACCES && errno != EAGAIN)
            return tseg_fail(error, errno, "%s: file locks do not work here: %s", sidecar->path, strerror(errno));
        if (tseg_byte_look(sidecar, 0, 1, NULL, &holder) != TSEG_BYTE_LOCKED) continue;
        error->holder = holder ? holder : maker(sidecar);
        break;
    }
    if (error->holder) snprintf(pid, sizeof pid, " (%ld)", (long)error->holder);
    return tseg_fail(error, EAGAIN, "%s is locked by another process%s, which makes or removes the segment",
                     sidecar->path, pid);
}

void tseg_sidecar_unlock_files(tseg_sidecar *sidecar)
{
    sidecar->files_locked = false;
    if (!tseg_sidecar_is_whole(sidecar)) return;
    tseg_byte_unlock(sidecar, TSEG_MAKER_AT + getpid());
    tseg_byte_unlock(sidecar, 0);
}

bool tseg_sidecar_take_slot(tseg_sidecar *sidecar, uint32_t process_slots)
{
    if (sidecar->slot >= 0) return true;
    if (!tseg_sidecar_is_whole(sidecar)) {
        if (!sidecar->refused) sidecar->refused = EBADF;
        return false;
    }
    sidecar->refused = 0;
    for (int slot = 0; sidecar->slot < 0 && !sidecar->refused && slot < (int)process_slots; slot++) {
        if (tseg_byte_lock(sidecar, 1 + slot)) sidecar->slot = slot;
        else if (errno != EACCES && errno != EAGAIN) sidecar->refused = errno;
    }
    return sidecar->slot >= 0;
}

void tseg_sidecar_keep_slot(tseg_sidecar *sidecar)
{
    if (sidecar->record_locks && sidecar->slot >= 0 && !tseg_byte_lock(sidecar, 1 + sidecar->slot)) sidecar->slot = -1;
}

/* A process without the lock file declares no other process dead. */
bool tseg_sidecar_is_locked(const tseg_sidecar *sidecar, uint32_t slot)
{
    return !tseg_sidecar_is_whole(sidecar) || tseg_byte_look(sidecar, 1 + (off_t)slot, 1, NULL, NULL) != TSEG_BYTE_FREE;
}

bool tseg_sidecar_in_use(const tseg_sidecar *sidecar)
{
    /* The question covers the rest of the file, because other layout versions may have more slots. */
    return !tseg_sidecar_is_whole(sidecar) || tseg_byte_look(sidecar, 1, 0, NULL, NULL) != TSEG_BYTE_FREE;
}
