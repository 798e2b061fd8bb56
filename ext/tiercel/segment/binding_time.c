/* The clock that applications' tests can move, and waiting without the GVL. */
#include <time.h>

#include "binding.h"

static ID id_now, id_to_f;

/*
 * travel_to, Minitest's stub and Timecop put another method in the place of Time.now, which then has to be called.
 * Tiercel::Clock::Patches notices that; while nothing has, the machine's clock is what Time.now would say.
 */
static bool reads_clock;

bool segment_reads_clock(double *now)
{
    struct timespec time;

    if (!reads_clock) return false;
    clock_gettime(CLOCK_REALTIME, &time);
    *now = (double)time.tv_sec + (double)time.tv_nsec / 1e9;
    return true;
}

double segment_now(void)
{
    double now;

    if (RB_LIKELY(segment_reads_clock(&now))) return now;
    return NUM2DBL(rb_funcallv(rb_funcallv(rb_cTime, id_now, 0, NULL), id_to_f, 0, NULL));
}

/* Segment.reads_clock = whether Time.now is Ruby's own */
static VALUE segment_set_reads_clock(VALUE class, VALUE original)
{
    reads_clock = RTEST(original);
    return original;
}

double segment_now_for_eviction(void)
{
    struct timespec time;
#ifdef TSEG_LINUX
    clock_gettime(CLOCK_REALTIME_COARSE, &time);
#else
    clock_gettime(CLOCK_REALTIME, &time);
#endif
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

typedef struct {
    tseg *segment;
    uint32_t shard;
    tseg_wait *wait;
} waiting;

static void *watch_lock(void *argument)
{
    waiting *what = argument;
    tseg_watch(what->segment, what->shard, what->wait);
    return NULL;
}

static VALUE wait_without_gvl(VALUE argument)
{
    rb_thread_call_without_gvl(watch_lock, (void *)argument, RUBY_UBF_IO, NULL);
    return Qnil;
}

static VALUE let_go(VALUE argument)
{
    tseg_let_go(((waiting *)argument)->segment);
    return Qnil;
}

bool segment_wait(tseg *segment, uint32_t shard, tseg_wait *wait)
{
    waiting what = {segment, shard, wait};

    if (!tseg_may_wait(segment, shard, wait)) return false;
    tseg_hold(segment); /* another thread may close the last handle during the wait */
    rb_ensure(wait_without_gvl, (VALUE)&what, let_go, (VALUE)&what);
    return true;
}

static void *short_nap(void *counted_ns)
{
    struct timespec pause = {0, 2000000};
    uint64_t began_ns = tseg_monotonic_ns();

    nanosleep(&pause, NULL);
    *(uint64_t *)counted_ns += tseg_counted_nap(began_ns, TSEG_LONGEST_COUNTED_NAP_NS);
    return NULL;
}

void segment_nap(uint64_t *counted_ns) { rb_thread_call_without_gvl(short_nap, counted_ns, RUBY_UBF_IO, NULL); }

void segment_init_time(void)
{
    id_now = rb_intern("now");
    id_to_f = rb_intern("to_f");
    rb_define_private_method(rb_singleton_class(tiercel_segment_class), "reads_clock=", segment_set_reads_clock, 1);
}
