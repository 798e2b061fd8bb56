/* Registration: a process has a slot in every segment that it uses. A file lock proves that the process is alive. */
#include "presence.h"

tseg *tseg_attachments;
atomic_bool tseg_parallel;

/* Remembers the counts of the slot's earlier owners. */
static void remember_counters(tseg *segment)
{
    for (int i = 0; i < TSEG_PROCESS_COUNTERS; i++)
        segment->counted_before[i] = tseg_load(&segment->self->counters[i]);
}

/* Takes a process slot and raises its generation, which shows that locks of its former owner are dead. */
void tseg_register(tseg *segment)
{
    struct timespec now;
    uint32_t slot, generation;

    for (uint32_t shard = 0; shard < TSEG_MAX_SHARDS; shard++) tseg_store(&segment->stuck[shard], 0);
    /* No thread of this process holds a lock with its former slot. */
    tseg_store(&segment->owner, 0);
    segment->self = segment->discarded_counts;
    remember_counters(segment);
    if (segment->sidecar && !tseg_sidecar_take_slot(segment->sidecar, segment->geometry.process_slots)) return;
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

/* Another process that has taken this process's slot, and with it all locks, has raised the slot's generation. */
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
 * A new registration declares the locks of the former one dead. If threads run calls at the same time, one of them may
 * hold such a lock, so the process loses the right to write instead.
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

static pid_t marked_pid;

static void mark_process(void)
{
    if (!tseg_forked_marker) tseg_forked_marker = tseg_fork_marker();
    if (tseg_forked_marker) *tseg_forked_marker = 1;
    marked_pid = getpid();
}

bool tseg_forked(void)
{
    const volatile char *marker = atomic_load_explicit(&tseg_forked_marker, memory_order_relaxed);
    return marker ? !*marker : marked_pid && marked_pid != getpid();
}

/*
 * A call begins with this: it registers the process again after a fork. Holds of the parent's waiting threads stay
 * counted in the child, so it never unmaps those segments.
 */
void tseg_after_fork(void)
{
    if (!tseg_forked()) return;
    tseg_hold_forks();
    mark_process();
    tseg_sidecars_renew(); /* a fork by a direct system call runs no handlers */
    for (tseg *segment = tseg_attachments; segment; segment = segment->next) {
        segment->warned = segment->lost = false;
        tseg_register(segment);
    }
    tseg_allow_forks();
}

void tseg_watch_for_forks(void)
{
    if (!marked_pid) mark_process();
    tseg_after_fork();
}

/* Called before a lock file is used, because other code may have closed it. */
void tseg_prepare_files(void)
{
    tseg_after_fork();
    tseg_hold_forks();
    for (tseg *segment = tseg_attachments; segment; segment = segment->next) tseg_keep_registered(segment);
    tseg_allow_forks();
}
