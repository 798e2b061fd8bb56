/* Processes: each has a slot in every segment it uses, proves by a record lock that it lives, and may fork. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <unistd.h>

#include "attach.h"

static const volatile char *fork_marker;
static pid_t marked_pid;

static void mark_process(void)
{
    if (!fork_marker) fork_marker = tseg_fork_marker();
    if (fork_marker) *(volatile char *)fork_marker = 1;
    marked_pid = getpid();
}

bool tseg_forked(void) { return fork_marker ? !*fork_marker : marked_pid && marked_pid != getpid(); }

/* Takes a process slot and moves its generation, so that locks of its former owner are seen to be dead. */
void tseg_register(tseg *segment)
{
    struct timespec now;
    uint32_t slot, generation;

    for (uint32_t shard = 0; shard < TSEG_MAX_SHARDS; shard++) tseg_store(&segment->stuck[shard], 0);
    segment->owner = 0; /* whoever held a lock under the former one is dead, or does not exist in this process */
    segment->self = segment->discarded_counts;
    if (segment->sidecar && !tseg_sidecar_take_slot(segment->sidecar, segment->geometry.process_slots)) return;
    slot = segment->sidecar ? (uint32_t)segment->sidecar->slot : 0;
    if (slot >= segment->geometry.process_slots) return;
    clock_gettime(CLOCK_REALTIME, &now);
    segment->self = &segment->processes[slot];
    do generation = (atomic_fetch_add(&segment->self->generation, 1) + 1) & TSEG_LOCK_GENERATION_MASK;
    while (generation == 0);
    atomic_store(&segment->self->pid, (uint32_t)getpid());
    tseg_store(&segment->self->attached_at, tseg_bits((double)now.tv_sec));
    segment->owner = (uint64_t)(slot + 1) | (uint64_t)generation << TSEG_LOCK_GENERATION_SHIFT;
}

/* What the parent's waiting threads hold stays held in the child: a mapping more, where it closes the segment. */
void tseg_after_fork(void)
{
    if (!tseg_forked()) return;
    mark_process();
    tseg_sidecars_after_fork();
    for (tseg *segment = tseg_attachments; segment; segment = segment->next) {
        segment->warned = false;
        tseg_register(segment);
    }
}

bool tseg_keep_registered(tseg *segment)
{
    tseg_sidecar *sidecar = segment->sidecar;

    if (!sidecar || (tseg_sidecar_mend(sidecar) && segment->owner)) return true;
    for (tseg *other = tseg_attachments; other; other = other->next)
        if (other->sidecar == sidecar) tseg_register(other);
    return !tseg_sidecar_is_gone(sidecar);
}

void tseg_watch_for_forks(void)
{
    if (!marked_pid) mark_process();
    tseg_after_fork();
}

void tseg_prepare_files(void)
{
    tseg_after_fork();
    for (tseg *segment = tseg_attachments; segment; segment = segment->next) tseg_keep_registered(segment);
}

bool tseg_owner_is_dead(const tseg *segment, uint64_t lock_word)
{
    uint64_t slot = (lock_word & TSEG_LOCK_SLOT_MASK) - 1;
    uint64_t generation = (lock_word >> TSEG_LOCK_GENERATION_SHIFT) & TSEG_LOCK_GENERATION_MASK;
    uint64_t ticketless = lock_word & ~(UINT64_MAX << TSEG_LOCK_TICKET_SHIFT);

    /* Our own: another thread. The kernel is not asked, to it our own locks look free. */
    if (ticketless == segment->owner) return false;
    if (!segment->sidecar || slot >= segment->geometry.process_slots) return true;
    if ((atomic_load(&segment->processes[slot].generation) & TSEG_LOCK_GENERATION_MASK) != generation) return true;
    return (int)slot == segment->sidecar->slot || !tseg_sidecar_is_locked(segment->sidecar, (uint32_t)slot);
}

int tseg_why_read_only(const tseg *segment) { return segment->sidecar ? segment->sidecar->refused : 0; }

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
