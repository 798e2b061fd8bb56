/* Work that takes long, without the GVL. */
#include "binding.h"

typedef struct {
    bool (*step)(void *argument, const atomic_bool *stop);
    void (*work)(void *argument, const atomic_bool *stop);
    void *argument;
    tseg *segment;
    atomic_bool stop;
    bool done;
} long_work;

static void ask_to_stop(void *argument) { atomic_store(&((long_work *)argument)->stop, true); }

static void *perform_step(void *argument)
{
    long_work *work = argument;
    work->done = work->step(work->argument, &work->stop);
    return NULL;
}

static VALUE handle_interrupts(VALUE unused)
{
    rb_thread_check_ints();
    return unused;
}

static bool run_step(tseg_host *base, bool (*step)(void *argument, const atomic_bool *stop), void *argument)
{
    segment_host *host = (segment_host *)base;
    long_work work = {.step = step, .argument = argument};
    int state;

    for (;;) {
        atomic_store(&work.stop, false);
        /* Raises nothing by itself; where an interrupt is pending it returns at once. */
        rb_thread_call_without_gvl2(perform_step, &work, ask_to_stop, &work);
        if (work.done) return true;
        rb_protect(handle_interrupts, Qnil, &state);
        if (!state) continue;
        host->state = state;
        return false;
    }
}

segment_host segment_new_host(void) { return (segment_host){{run_step}, 0}; }

void segment_raise(const segment_host *host)
{
    if (host->state) rb_jump_tag(host->state);
}

static void *perform_work(void *argument)
{
    long_work *work = argument;
    work->work(work->argument, &work->stop);
    return NULL;
}

static VALUE run_work(VALUE argument)
{
    rb_thread_call_without_gvl(perform_work, (void *)argument, ask_to_stop, (void *)argument);
    return Qnil;
}

static VALUE let_segment_go(VALUE argument)
{
    segment_host host = segment_new_host();

    ((long_work *)argument)->segment->holds--;
    tseg_release_by(&host.base, ((long_work *)argument)->segment);
    segment_raise(&host);
    return Qnil;
}

void segment_run(tseg *segment, void (*work)(void *argument, const atomic_bool *stop), void *argument)
{
    long_work what = {.work = work, .argument = argument, .segment = segment};

    tseg_hold(segment); /* another thread may close its last handle */
    rb_ensure(run_work, (VALUE)&what, let_segment_go, (VALUE)&what);
}
