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

/*
 * Only one thread of a process holds the lock for files: files_descriptor. It has a description of its own, so that it
 * ends with its descriptor, and does not depend on the proof of the process slot. Closing a descriptor would drop
 * record locks, so these share the descriptor of the slot.
 */
bool tseg_sidecar_lock_files(tseg_sidecar *sidecar, tseg_error *error)
{
    char pid[32] = "";

    if (sidecar->files_descriptor >= 0) error->holder = getpid();
    if (sidecar->files_descriptor >= 0)
        return tseg_fail(error, EAGAIN, "%s is locked by another thread, which makes or removes the segment",
                         sidecar->path);
    for (int attempt = 0; attempt < 3; attempt++) {
        pid_t holder = 0;
        int descriptor;
        if (!tseg_sidecar_is_whole(sidecar))
            return tseg_fail(error, EBADF, "%s was closed by other code", sidecar->path);
        tseg_hold_forks();
        descriptor = sidecar->record_locks ? sidecar->descriptor : tseg_sidecar_open_again(sidecar);
        sidecar->files_descriptor = descriptor;
        tseg_allow_forks();
        if (descriptor < 0) return tseg_fail(error, EBADF, "%s cannot be opened again", sidecar->path);
        if (tseg_byte_lock(sidecar, descriptor, 0)) {
            tseg_byte_lock(sidecar, descriptor, TSEG_MAKER_AT + getpid());
            return true;
        }
        error->code = errno;
        tseg_sidecar_unlock_files(sidecar);
        if (error->code != EACCES && error->code != EAGAIN)
            return tseg_fail(error, error->code, "%s: file locks do not work here: %s", sidecar->path,
                             strerror(error->code));
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
    if (!sidecar->record_locks) {
        tseg_sidecar_close_files(sidecar);
        return;
    }
    sidecar->files_descriptor = -1;
    if (!tseg_sidecar_is_whole(sidecar)) return;
    tseg_byte_unlock(sidecar, sidecar->descriptor, TSEG_MAKER_AT + getpid());
    tseg_byte_unlock(sidecar, sidecar->descriptor, 0);
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
        if (tseg_byte_lock(sidecar, sidecar->descriptor, 1 + slot)) sidecar->slot = slot;
        else if (errno != EACCES && errno != EAGAIN) sidecar->refused = errno;
    }
    if (sidecar->slot >= 0) tseg_sidecar_prove(sidecar);
    return sidecar->slot >= 0;
}

void tseg_sidecar_keep_slot(tseg_sidecar *sidecar)
{
    if (sidecar->record_locks && sidecar->slot >= 0 && !tseg_byte_lock(sidecar, sidecar->descriptor, 1 + sidecar->slot))
        sidecar->slot = -1;
}

/* A process without the lock file declares no other process dead. */
bool tseg_sidecar_is_locked(const tseg_sidecar *sidecar, uint32_t slot)
{
    return !tseg_sidecar_is_whole(sidecar) || tseg_byte_look(sidecar, 1 + (off_t)slot, 1, NULL, NULL) != TSEG_BYTE_FREE;
}

bool tseg_sidecar_in_use(const tseg_sidecar *sidecar)
{
    /* The question covers all bytes below TSEG_MAKER_AT, because other layout versions may have more slots. */
    return !tseg_sidecar_is_whole(sidecar) ||
           tseg_byte_look(sidecar, 1, TSEG_MAKER_AT - 1, NULL, NULL) != TSEG_BYTE_FREE;
}
