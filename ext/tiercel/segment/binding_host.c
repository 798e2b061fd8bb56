/* Ruby as the core's host: work without the GVL, and exceptions that wait until the core has returned. */
#include "binding.h"

static bool protect(tseg_host *base, VALUE (*function)(VALUE), VALUE argument)
{
    int state;

    rb_protect(function, argument, &state);
    if (state) ((segment_host *)base)->state = state;
    return !state;
}

static VALUE handle_interrupts(VALUE unused)
{
    rb_thread_check_ints();
    return unused;
}

typedef struct {
    tseg_step *step;
    void *argument;
    atomic_bool stop;
    bool done;
} long_work;

static void ask_to_stop(void *work) { atomic_store(&((long_work *)work)->stop, true); }

static void *perform_step(void *argument)
{
    long_work *work = argument;
    work->done = work->step(work->argument, &work->stop);
    return NULL;
}

static bool run_without_gvl(tseg_host *base, tseg_step *step, void *argument)
{
    long_work work = {.step = step, .argument = argument};

    for (;;) {
        atomic_store(&work.stop, false);
        /* This function raises nothing by itself. It returns at once if an interrupt is pending. */
        rb_thread_call_without_gvl2(perform_step, &work, ask_to_stop, &work);
        if (work.done) return true;
        if (!protect(base, handle_interrupts, Qnil)) return false;
    }
}

typedef struct {
    void (*work)(void *argument);
    void *argument;
} sleeping_work;

static void *perform_sleep(void *argument)
{
    const sleeping_work *work = argument;
    work->work(work->argument);
    return NULL;
}

static bool block_without_gvl(tseg_host *base, void (*work)(void *argument), void *argument)
{
    sleeping_work sleeping = {work, argument};

    rb_thread_call_without_gvl2(perform_sleep, &sleeping, RUBY_UBF_IO, NULL);
    return protect(base, handle_interrupts, Qnil);
}

static tseg *current_segment(tseg_host *base)
{
    segment_host *host = (segment_host *)base;
    tseg *segment = tseg_handle_current(segment_handle_of(host->self), base);

    host->detached = !segment;
    return segment;
}

static VALUE report_replaced(VALUE message)
{
    return rb_funcall(tiercel_segment_class, rb_intern("report_replaced"), 1,
                      rb_utf8_str_new_cstr((const char *)message));
}

static void protect_report(tseg_host *base, const char *message) { protect(base, report_replaced, (VALUE)message); }

segment_host segment_host_of(VALUE self)
{
    return (segment_host){{.run = run_without_gvl, .block = block_without_gvl,
                           .current = current_segment, .report_replaced = protect_report}, self, 0, false};
}

void segment_raise(const segment_host *host)
{
    if (host->state) rb_jump_tag(host->state);
    if (host->detached) segment_fail_with(host->self, &host->base.error);
}
