/* The time as Ruby sees it. An application's tests can move it. */
#include "binding.h"
#include "coarse_clock.h"

static ID id_now, id_to_f;

/*
 * Whether Time.now is Ruby's own method. travel_to, Minitest's stub and Timecop replace it, and Tiercel::Clock::Patches
 * notices that. Until then this file reads the machine's clock, which gives the same time without a call.
 */
static bool reads_clock;

static double seconds_of(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Returns false if Ruby code has to run. */
static bool read_without_ruby(double *now)
{
    if (!reads_clock) return false;
    *now = seconds_of(CLOCK_REALTIME);
    return true;
}

double segment_now(void)
{
    double now;

    if (RB_LIKELY(read_without_ruby(&now))) return now;
    return NUM2DBL(rb_funcallv(rb_funcallv(rb_cTime, id_now, 0, NULL), id_to_f, 0, NULL));
}

/* Segment.reads_clock = whether Time.now is Ruby's own */
static VALUE segment_set_reads_clock(VALUE class, VALUE original)
{
    reads_clock = RTEST(original);
    return original;
}

double segment_coarse_now(void) { return seconds_of(TSEG_COARSE_REALTIME); }

__attribute__((noinline)) bool segment_ask_time(VALUE self, tseg_clock *clock, tseg **segment)
{
    const tseg_handle *handle;
    uint64_t unmapped = tseg_unmapped;

    clock->known = true;
    if (RB_LIKELY(read_without_ruby(&clock->now))) return true;
    handle = segment_handle_of(self);
    clock->now = segment_now();
    /* Ruby code ran. The read may continue if nothing was unmapped, because the handle keeps its segment mapped. */
    if (RB_LIKELY(unmapped == tseg_unmapped && handle->attached == *segment && !tseg_forked())) return true;
    *segment = segment_current(self);
    return false;
}

void segment_init_time(void)
{
    id_now = rb_intern("now");
    id_to_f = rb_intern("to_f");
    rb_define_private_method(rb_singleton_class(tiercel_segment_class), "reads_clock=", segment_set_reads_clock, 1);
}
