/* The clock that applications' tests can move, and waiting without the GVL. */
#include <time.h>

#include "binding.h"

static ID id_now, id_to_f;

/*
 * travel_to, Minitest's stub and Timecop put another method in the place of Time.now, and there is no way to tell
 * that is cheaper than calling it: Ruby's own is written in Ruby, which rb_method_basic_definition_p never calls basic.
 */
double segment_now(void) { return NUM2DBL(rb_funcallv(rb_funcallv(rb_cTime, id_now, 0, NULL), id_to_f, 0, NULL)); }

double segment_now_for_eviction(void)
{
    struct timespec time;
#ifdef CLOCK_REALTIME_COARSE
    clock_gettime(CLOCK_REALTIME_COARSE, &time);
#else
    clock_gettime(CLOCK_REALTIME, &time);
#endif
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

typedef struct {
    tseg *segment;
    uint32_t shard;
    uint64_t deadline_ns;
} waiting;

static void *watch_lock(void *argument)
{
    waiting *what = argument;
    tseg_watch(what->segment, what->shard, what->deadline_ns);
    return NULL;
}

static VALUE wait_without_gvl(VALUE argument)
{
    rb_thread_call_without_gvl(watch_lock, (void *)argument, RUBY_UBF_IO, NULL);
    return Qnil;
}

static VALUE let_go(VALUE argument)
{
    tseg_release(((waiting *)argument)->segment);
    return Qnil;
}

bool segment_wait(tseg *segment, uint32_t shard, uint64_t *deadline_ns)
{
    waiting what = {segment, shard, 0};

    if (!tseg_may_wait(segment, shard, deadline_ns)) return false;
    what.deadline_ns = *deadline_ns;
    tseg_hold(segment); /* its last handle may be closed meanwhile */
    rb_ensure(wait_without_gvl, (VALUE)&what, let_go, (VALUE)&what);
    return true;
}

void segment_init_time(void)
{
    id_now = rb_intern("now");
    id_to_f = rb_intern("to_f");
}
