/* The clock that applications' tests can move, and waiting without the GVL. */
#include <time.h>

#include "binding.h"

static ID id_now, id_to_f;
static VALUE time_singleton;
bool segment_strings_are_held;

/* travel_to, Minitest's stub and Timecop all put another method on Time itself. */
bool segment_time_is_ruby(void) { return rb_method_basic_definition_p(time_singleton, id_now); }

static double read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static VALUE ask_time(VALUE unused) { return rb_funcall(rb_funcall(rb_cTime, id_now, 0), id_to_f, 0); }

/* Ruby code runs in it: other threads may close what this call uses, which must stay mapped. */
static VALUE suspended(VALUE (*function)(VALUE), VALUE argument)
{
    int state = 0;
    VALUE result;

    tseg_suspended_calls++;
    result = rb_protect(function, argument, &state);
    if (tseg_suspended_calls) tseg_suspended_calls--; /* 0 in a child that was forked in between */
    if (state) rb_jump_tag(state);
    return result;
}

double segment_now(void)
{
    return segment_time_is_ruby() ? read_clock(CLOCK_REALTIME) : NUM2DBL(suspended(ask_time, Qnil));
}

double segment_now_for_eviction(void)
{
#ifdef CLOCK_REALTIME_COARSE
    return segment_time_is_ruby() ? read_clock(CLOCK_REALTIME_COARSE) : -INFINITY;
#else
    return segment_time_is_ruby() ? read_clock(CLOCK_REALTIME) : -INFINITY;
#endif
}

double segment_expires_at(VALUE ttl)
{
    double seconds;

    if (NIL_P(ttl)) return INFINITY;
    seconds = NUM2DBL(ttl);
    return segment_now() + seconds;
}

typedef struct {
    void (*function)(void *);
    void *argument;
} waiting;

static void *wait_outside(void *argument)
{
    waiting *what = argument;
    what->function(what->argument);
    return NULL;
}

static VALUE wait_without_gvl(VALUE argument)
{
    rb_thread_call_without_gvl(wait_outside, (void *)argument, RUBY_UBF_IO, NULL);
    return Qnil;
}

static void wait_for_lock(void (*function)(void *), void *argument)
{
    waiting what = {function, argument};
    suspended(wait_without_gvl, (VALUE)&what);
}

static bool may_wait(void) { return segment_strings_are_held; }

void segment_init_host(void)
{
    id_now = rb_intern("now");
    id_to_f = rb_intern("to_f");
    time_singleton = rb_singleton_class(rb_cTime);
    rb_gc_register_mark_object(time_singleton);
    tseg_host_functions.now = segment_now;
    tseg_host_functions.may_wait = may_wait;
    tseg_host_functions.wait = wait_for_lock;
}
