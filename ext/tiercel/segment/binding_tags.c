/* The tags of frames that Ruby decodes. A read checks the tags of plain Strings itself. */
#include "binding.h"
#include "tags.h"

static bool tags_are_current(VALUE self, const uint8_t *part, size_t bytes)
{
    tseg *segment = segment_current(self);
    tseg_clock clock = {false, 0};
    tseg_tags_answer answer;
    tseg_tags tags;

    tseg_tags_begin(&tags, segment, part, bytes);
    answer = tseg_tags_finish(&tags, segment, &clock);
    if (answer == TSEG_TAGS_NEED_TIME) {
        segment_ask_time(self, &clock, &segment);
        tseg_tags_begin(&tags, segment, part, bytes);
        answer = tseg_tags_finish(&tags, segment, &clock);
    }
    return answer == TSEG_TAGS_CURRENT;
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
    current = part && tags_are_current(self, part, bytes);
    RB_GC_GUARD(frame);
    return current ? Qtrue : Qfalse;
}

void segment_init_tags(void)
{
    rb_define_method(tiercel_segment_class, "tags_current?", segment_tags_current, 1);
}
