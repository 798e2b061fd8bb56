/*
 * Forks. A child inherits its parent's open file descriptions, and these keep the parent's locks alive. So the child
 * closes the inherited descriptors and opens the lock files again, even if it never uses a segment.
 */
#include "system.h"

#include <pthread.h>
#include <unistd.h>

#include "attach.h"

#define FORK_TRIES 1000

static pthread_mutex_t guard;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local bool guarded; /* this thread forks, and holds the guard */

static const volatile char *fork_marker;
static pid_t marked_pid;

static void make_guard(void)
{
    pthread_mutexattr_t recursive;

    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&guard, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

/* A thread holds the guard for microseconds. If a thread was stopped with it, the fork continues after a second. */
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

/*
 * Allocates nothing, because another thread of the parent may have held the allocator's lock. The child makes a new
 * guard: a recursive mutex identifies its owner by a thread number, which differs in the child.
 */
static void in_child(void)
{
    make_guard();
    if (fork_marker) *(volatile char *)fork_marker = 0; /* an emulator may accept MADV_WIPEONFORK and ignore it */
    tseg_sidecars_renew();
}

static void prepare(void)
{
    make_guard();
    /* If this fails, a child renews its lock files in its first call. */
    if (pthread_atfork(before_fork, in_parent, in_child) != 0) {}
}

void tseg_hold_forks(void)
{
    pthread_once(&once, prepare);
    pthread_mutex_lock(&guard);
}

void tseg_allow_forks(void) { pthread_mutex_unlock(&guard); }

static void mark_process(void)
{
    if (!fork_marker) fork_marker = tseg_fork_marker();
    if (fork_marker) *(volatile char *)fork_marker = 1;
    marked_pid = getpid();
}

bool tseg_forked(void) { return fork_marker ? !*fork_marker : marked_pid && marked_pid != getpid(); }

void tseg_watch_for_forks(void)
{
    if (!marked_pid) mark_process();
    tseg_after_fork();
}

/* Holds of the parent's waiting threads stay counted in the child, so it never unmaps those segments. */
void tseg_after_fork(void)
{
    if (!tseg_forked()) return;
    mark_process();
    tseg_hold_forks();
    tseg_sidecars_renew(); /* a fork by a direct system call runs no handlers */
    tseg_allow_forks();
    for (tseg *segment = tseg_attachments; segment; segment = segment->next) {
        segment->warned = false;
        tseg_register(segment);
    }
}
