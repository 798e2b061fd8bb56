/* Differences between systems. Linux has its own calls; other systems and the portable build use POSIX. */
#include "system.h"

#include <stdarg.h>

#ifdef TSEG_LINUX
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#endif

__attribute__((format(printf, 3, 4)))
bool tseg_fail(tseg_error *error, int code, const char *format, ...)
{
    va_list arguments;

    error->code = code;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return false;
}

/* Runs long work through the host, or directly if there is no host. Returns false if the host was interrupted. */
bool tseg_run(tseg_host *host, tseg_step *step, void *argument)
{
    atomic_bool never = false;

    return host ? host->run(host, step, argument) : step(argument, &never);
}

/* Like tseg_run, for work that must be completed: if the host stops it, it continues without the host. */
void tseg_finish(tseg_host *host, tseg_step *step, void *argument)
{
    if (!tseg_run(host, step, argument)) tseg_run(NULL, step, argument);
}

#define NETWORK "a network file system, whose pages are not shared"
#define COPY_ON_WRITE "a copy-on-write file system, which reserves no room: a full disk would end every process"

/* Cached values may be private, and a segment may be larger than the disk for core files. */
void tseg_leave_out_of_core_files(void *map, size_t bytes)
{
#ifdef MADV_DONTDUMP
    madvise(map, bytes, MADV_DONTDUMP);
#else
    (void)map, (void)bytes;
#endif
}

/* MAP_FAILED: errno has the reason */
void *tseg_map_private(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
}

#ifdef TSEG_LINUX
bool tseg_random(void *bytes, size_t count) { return getentropy(bytes, count) == 0; }

/* Zeros if it is unknown. */
void tseg_boot_id(uint64_t id[2])
{
    int descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    char text[36] = "";

    id[0] = id[1] = 0;
    if (descriptor >= 0 && read(descriptor, text, sizeof text) == (ssize_t)sizeof text) {
        memcpy(&id[0], text, 8); /* two of its five parts are random enough */
        memcpy(&id[1], text + 28, 8);
    }
    if (descriptor >= 0) close(descriptor);
}

/* The reason why a segment cannot lie on the file system of this file; NULL if it can. */
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
/* Whether files there take memory, and not room on a disk. */
bool tseg_is_in_memory(const char *directory)
{
    static const uint32_t memory[] = {0x01021994, 0x858458F6, 0x958458F6}; /* tmpfs, ramfs, hugetlbfs */
    struct statfs system;

    if (statfs(directory, &system) != 0) return false;
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if ((uint32_t)system.f_type == memory[i]) return true;
    return false;
}

/* A byte of a page that the system fills with zeros in a child; NULL: not supported. */
void *tseg_fork_marker(void)
{
#ifdef MADV_WIPEONFORK
    long page = sysconf(_SC_PAGESIZE);
    char *marker = page > 0 ? tseg_map_private((size_t)page) : MAP_FAILED;

    if (marker == MAP_FAILED) return NULL;
    if (madvise(marker, (size_t)page, MADV_WIPEONFORK) == 0) return marker;
    munmap(marker, (size_t)page);
#endif
    return NULL;
}
#else
bool tseg_random(void *bytes, size_t count)
{
    int descriptor = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    bool whole = descriptor >= 0 && read(descriptor, bytes, count) == (ssize_t)count;

    if (descriptor >= 0) close(descriptor);
    return whole;
}

void tseg_boot_id(uint64_t id[2]) { id[0] = id[1] = 0; }

const char *tseg_unfit_file_system(int descriptor) { return (void)descriptor, NULL; }

bool tseg_is_in_memory(const char *directory) { return (void)directory, false; }

void *tseg_fork_marker(void) { return NULL; }
#endif

/* 0 in a child that has not noticed the fork; NULL: the pid shows the fork. */
volatile char *_Atomic tseg_forked_marker;
static pid_t marked_pid;

/* Called in a process that has noticed its fork, and in its first call. */
void tseg_mark_process(void)
{
    if (!tseg_forked_marker) tseg_forked_marker = tseg_fork_marker();
    if (tseg_forked_marker) *tseg_forked_marker = 1;
    marked_pid = getpid();
}

/* Returns whether the process is a child that has not noticed its fork, or makes its first call. */
bool tseg_forked(void)
{
    const volatile char *marker = atomic_load_explicit(&tseg_forked_marker, memory_order_relaxed);
    return marker ? !*marker : marked_pid != getpid();
}

#ifdef TSEG_LINUX
#define LEAST_PAGE 4096u     /* no system has smaller pages */
#define TSEG_POPULATE_WRITE 23 /* since Linux 5.14, newer than some C libraries */

/*
 * Allocates memory for these bytes of a sparse file. Returns false if the system has none; a later write would then end
 * the process.
 */
bool tseg_back(void *map, uint64_t from, uint64_t to)
{
    uint64_t first = from & ~(uint64_t)(LEAST_PAGE - 1);
    int result;

    do result = madvise((char *)map + first, to - first, TSEG_POPULATE_WRITE);
    while (result != 0 && (errno == EINTR || errno == EAGAIN));
    return result == 0;
}

/* Returns whether tseg_back works on this system. */
bool tseg_can_back(void)
{
    void *page = mmap(NULL, LEAST_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    bool works = page != MAP_FAILED && madvise(page, LEAST_PAGE, TSEG_POPULATE_WRITE) == 0;

    if (page != MAP_FAILED) munmap(page, LEAST_PAGE);
    return works;
}
#else
bool tseg_back(void *map, uint64_t from, uint64_t to) { return (void)map, (void)from, (void)to, false; }
bool tseg_can_back(void) { return false; }
#endif

/* Sleeping on a word that processes share, and waking all sleepers. Systems without a futex poll the word. */
#ifdef TSEG_LINUX
/* From linux/futex.h, which a system with musl may lack. */
enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1 };

void tseg_wake(_Atomic uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

/* Sleeps until the word differs from `seen`, tseg_wake is called, a signal arrives, or longest_ns is over. */
void tseg_sleep(_Atomic uint32_t *word, uint32_t seen, uint64_t longest_ns)
{
    struct timespec time = {(time_t)(longest_ns / 1000000000u), (long)(longest_ns % 1000000000u)};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &time, NULL, 0);
}
#else
void tseg_wake(_Atomic uint32_t *word) { (void)word; }

void tseg_sleep(_Atomic uint32_t *word, uint32_t seen, uint64_t longest_ns)
{
    const struct timespec pause = {0, 2000000};
    uint64_t until = tseg_monotonic_ns() + longest_ns;

    while (atomic_load(word) == seen && tseg_monotonic_ns() < until)
        if (nanosleep(&pause, NULL) != 0) return; /* the caller handles the signal */
}
#endif
