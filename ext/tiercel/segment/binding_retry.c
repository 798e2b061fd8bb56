/* Makes a call again that met a writer, or a file that was replaced. */
#include "binding.h"

typedef struct {
    VALUE self;
    segment_call *call;
} retry;

static VALUE make_again(VALUE argument)
{
    VALUE self = ((retry *)argument)->self;
    segment_call *call = ((retry *)argument)->call;
    tseg_wait wait = {0};

    for (int files = 0; files < 3; files += call->result == TSEG_RETIRED) {
        tseg *segment = segment_current(self);
        call->result = call->attempt(segment, call);
        if (call->result == TSEG_WOULD_WAIT && !segment_wait(segment, call->shard, &wait)) call->result = TSEG_BUSY;
        if (call->result != TSEG_RETIRED && call->result != TSEG_WOULD_WAIT) break;
    }
    return Qnil;
}

/* Runs after an interrupt too, so it raises nothing and moves to no other file. */
static VALUE abandon(VALUE argument)
{
    segment_call *call = ((retry *)argument)->call;
    const segment_handle *handle = segment_handle_of(((retry *)argument)->self);

    if (segment_is_answer(call->result) || !call->abandon || !handle->attached || tseg_forked()) return Qnil;
    call->result = call->abandon(handle->attached, call);
    return Qnil;
}

tseg_result segment_retry(VALUE self, segment_call *call, tseg_result first)
{
    retry again = {self, call};
    VALUE key = call->key;

    call->result = first;
    /* Other threads run during a wait, and must not change these Strings. */
    call->key = rb_str_new_frozen(call->key);
    if (call->bytes) call->bytes = rb_str_new_frozen(call->bytes);
    if (first == TSEG_WOULD_WAIT || first == TSEG_RETIRED)
        rb_ensure(make_again, (VALUE)&again, abandon, (VALUE)&again);
    else
        abandon((VALUE)&again);
    if (!segment_is_answer(call->result)) segment_fail(self, call->result, key);
    return call->result;
}
