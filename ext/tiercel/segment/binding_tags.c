/* The tags of frames that Ruby decodes. A read checks the tags of plain Strings itself. */
#include "binding.h"
#include "tags.h"

static bool ask_for_time(void *self, tseg_clock *clock, tseg **segment)
{
    return segment_ask_time((VALUE)self, clock, segment);
}

/* Segment#tags_current?(frame) -> whether the frame has tags and all of them are current */
static VALUE segment_tags_current(VALUE self, VALUE frame)
{
    const uint8_t *part;
    size_t bytes;
    bool current;

    Check_Type(frame, T_STRING);
    if (!OBJ_FROZEN(frame)) frame = rb_str_new_frozen(frame);
    part = tseg_tags_of((const uint8_t *)RSTRING_PTR(frame), (size_t)RSTRING_LEN(frame), &bytes);
    current = part && tseg_tags_are_current(segment_current(self), part, bytes, ask_for_time, (void *)self);
    RB_GC_GUARD(frame);
    return current ? Qtrue : Qfalse;
}

void segment_init_tags(void)
{
    rb_define_method(tiercel_segment_class, "tags_current?", segment_tags_current, 1);
}
