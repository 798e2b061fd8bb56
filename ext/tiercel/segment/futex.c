/* Sleeping on a word that processes share, and waking all sleepers. Systems without a futex poll the word. */
#include "system.h"

#include <limits.h>
#ifdef TSEG_LINUX
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "internal.h"

#ifdef TSEG_LINUX
/* From linux/futex.h, which a system with musl may lack. */
enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1 };

void tseg_wake(tseg_half *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

void tseg_sleep(tseg_half *word, uint32_t seen, uint64_t longest_ns)
{
    struct timespec time = {(time_t)(longest_ns / 1000000000u), (long)(longest_ns % 1000000000u)};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &time, NULL, 0);
}
#else
void tseg_wake(tseg_half *word) { (void)word; }

void tseg_sleep(tseg_half *word, uint32_t seen, uint64_t longest_ns)
{
    const struct timespec pause = {0, 2000000};
    uint64_t until = tseg_monotonic_ns() + longest_ns;

    while (atomic_load(word) == seen && tseg_monotonic_ns() < until)
        if (nanosleep(&pause, NULL) != 0) return; /* the caller handles the signal */
}
#endif
