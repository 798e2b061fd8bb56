/* What differs between Linux and macOS, glibc and musl. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
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

#define NETWORK "a network file system, whose pages are not shared"
#define COPY_ON_WRITE "a copy-on-write file system, which reserves no room: a full disk would end every process"

bool tseg_random(void *bytes, size_t count) { return getentropy(bytes, count) == 0; }

#ifdef __linux__
bool tseg_boot_id(uint64_t id[2])
{
    int descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    char text[64] = "";
    unsigned digits = 0;

    id[0] = id[1] = 0;
    if (descriptor < 0) return false;
    if (read(descriptor, text, sizeof text - 1) < 0) text[0] = 0;
    close(descriptor);
    for (const char *at = text; *at && digits < 32; at++) {
        if (!isxdigit((unsigned char)*at)) continue;
        unsigned value = isdigit((unsigned char)*at) ? (unsigned)(*at - '0') : (unsigned)(tolower(*at) - 'a' + 10);
        id[digits / 16] = id[digits / 16] << 4 | value;
        digits++;
    }
    return digits == 32 && (id[0] | id[1]);
}

double tseg_booted_at(void)
{
    struct timespec now, running;

    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || clock_gettime(CLOCK_BOOTTIME, &running) != 0) return -INFINITY;
    return (double)(now.tv_sec - running.tv_sec) + (double)(now.tv_nsec - running.tv_nsec) / 1e9;
}

const char *tseg_unfit_file_system(int descriptor)
{
    static const struct {
        uint32_t magic;
        const char *reason;
    } unfit[] = {
        {0x6969, NETWORK},          /* NFS */
        {0x517B, NETWORK},          /* SMB, three generations */
        {0xFF534D42, NETWORK},
        {0xFE534D42, NETWORK},
        {0x01021997, NETWORK},      /* 9P */
        {0x00C36400, NETWORK},      /* Ceph */
        {0x0BD00BD0, NETWORK},      /* Lustre */
        {0x5346414F, NETWORK},      /* AFS */
        {0x9123683E, COPY_ON_WRITE}, /* btrfs */
        {0x2FC12FC1, COPY_ON_WRITE}, /* ZFS */
        {0xCA451A4E, COPY_ON_WRITE}, /* bcachefs */
    };
    struct statfs system;

    if (fstatfs(descriptor, &system) != 0) return NULL;
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++)
        if ((uint32_t)system.f_type == unfit[i].magic) return unfit[i].reason;
    return NULL;
}
#else
double tseg_booted_at(void)
{
    struct timeval booted = {0, 0};
    size_t bytes = sizeof booted;
    int name[2] = {CTL_KERN, KERN_BOOTTIME};

    return sysctl(name, 2, &booted, &bytes, NULL, 0) == 0 && booted.tv_sec ? (double)booted.tv_sec : -INFINITY;
}

bool tseg_boot_id(uint64_t id[2])
{
    double booted_at = tseg_booted_at();

    id[0] = booted_at > 0 ? (uint64_t)booted_at : 0;
    id[1] = 0;
    return id[0] != 0;
}

const char *tseg_unfit_file_system(int descriptor)
{
    struct statfs system;
    return fstatfs(descriptor, &system) == 0 && !(system.f_flags & MNT_LOCAL) ? NETWORK : NULL;
}
#endif

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
