/* What differs between Linux and macOS, glibc and musl. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/random.h>
#include <sys/vfs.h>
#else
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/random.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#endif

#include "attach.h"

bool tseg_random(void *bytes, size_t count) { return getentropy(bytes, count) == 0; }

#ifdef __linux__
void tseg_boot_id(uint64_t id[2])
{
    int descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    char text[64] = "";
    unsigned digits = 0;

    id[0] = id[1] = 0;
    if (descriptor < 0) return;
    if (read(descriptor, text, sizeof text - 1) < 0) text[0] = 0;
    close(descriptor);
    for (const char *at = text; *at && digits < 32; at++) {
        if (!isxdigit((unsigned char)*at)) continue;
        unsigned value = isdigit((unsigned char)*at) ? (unsigned)(*at - '0') : (unsigned)(tolower(*at) - 'a' + 10);
        id[digits / 16] = id[digits / 16] << 4 | value;
        digits++;
    }
}

bool tseg_is_network_file(int descriptor)
{
    /* NFS, SMB (three generations), 9P, Ceph, Lustre, AFS */
    static const uint32_t magics[] = {0x6969, 0x517B, 0xFF534D42, 0xFE534D42, 0x01021997, 0x00C36400, 0x0BD00BD0,
                                      0x5346414F};
    struct statfs system;

    if (fstatfs(descriptor, &system) != 0) return false;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if ((uint32_t)system.f_type == magics[i]) return true;
    return false;
}
#else
void tseg_boot_id(uint64_t id[2])
{
    struct timeval booted = {0, 0};
    size_t bytes = sizeof booted;
    int name[2] = {CTL_KERN, KERN_BOOTTIME};

    id[0] = id[1] = 0;
    if (sysctl(name, 2, &booted, &bytes, NULL, 0) == 0) id[0] = (uint64_t)booted.tv_sec;
}

bool tseg_is_network_file(int descriptor)
{
    struct statfs system;
    return fstatfs(descriptor, &system) == 0 && !(system.f_flags & MNT_LOCAL);
}
#endif

static bool write_zeros(int descriptor, uint64_t bytes)
{
    static const char zeros[1 << 16];

    for (uint64_t at = 0; at < bytes;) {
        uint64_t part = bytes - at < sizeof zeros ? bytes - at : sizeof zeros;
        ssize_t written = pwrite(descriptor, zeros, part, (off_t)at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        at += (uint64_t)written;
    }
    return true;
}

/*
 * Reserved, not sparse: a page that cannot be had later is a SIGBUS in some
 * innocent read. Asked first: on tmpfs trying takes the memory of the machine
 * before it fails.
 */
bool tseg_allocate_file(int descriptor, uint64_t bytes)
{
    struct statvfs system;

    if (fstatvfs(descriptor, &system) == 0 && bytes > (uint64_t)system.f_bavail * system.f_frsize) {
        errno = ENOSPC;
        return false;
    }
#ifdef __linux__
    int failure;

    do failure = posix_fallocate(descriptor, 0, (off_t)bytes); while (failure == EINTR);
    if (failure == 0) return true;
    errno = failure;
    if (failure != EOPNOTSUPP && failure != EINVAL) return false;
#endif
    return ftruncate(descriptor, (off_t)bytes) == 0 && write_zeros(descriptor, bytes);
}

void *tseg_fork_marker(void)
{
    long page = sysconf(_SC_PAGESIZE);
    char *marker;

    if (page <= 0) return NULL;
    marker = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (marker == MAP_FAILED) return NULL;
#if defined(MADV_WIPEONFORK)
    if (madvise(marker, (size_t)page, MADV_WIPEONFORK) == 0) return marker;
#elif defined(VM_INHERIT_ZERO)
    if (minherit(marker, (size_t)page, VM_INHERIT_ZERO) == 0) return marker;
#endif
    munmap(marker, (size_t)page);
    return NULL;
}
