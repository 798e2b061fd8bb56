/* Calls that the core may have to repeat. */
#include "binding.h"

static void fail(VALUE self, tseg_result result, VALUE key)
{
    tseg *attached = segment_handle_of(self)->attached;
    const char *reason = result == TSEG_BUSY ? "busy" : result == TSEG_READ_ONLY ? "read_only" : "retired";
    int code = 0;

    if (result == TSEG_READ_ONLY && attached) {
        code = tseg_why_read_only(attached);
        if (attached->warned) reason = "still_read_only";
        attached->warned = true;
    }
    rb_funcall(tiercel_segment_class, rb_intern("raise_result"), 4, ID2SYM(rb_intern(reason)), self,
               key ? key : Qnil, INT2NUM(code));
}

/* Other threads run during a wait. They must not change these Strings. */
static VALUE freeze_keys(VALUE keys)
{
    VALUE copies = rb_ary_new_capa(RARRAY_LEN(keys));

    for (long i = 0; i < RARRAY_LEN(keys); i++) rb_ary_push(copies, rb_str_new_frozen(RARRAY_AREF(keys, i)));
    return copies;
}

tseg_result segment_repeat(VALUE self, segment_call *call)
{
    segment_host host = segment_host_of(self);
    VALUE key = call->key;

    if (call->key) call->key = rb_str_new_frozen(call->key);
    if (call->bytes) call->bytes = rb_str_new_frozen(call->bytes);
    if (call->keys) call->keys = freeze_keys(call->keys);
    tseg_repeat_call(&host.base, &call->base);
    segment_raise(&host);
    if (!tseg_is_answer(call->base.result)) fail(self, call->base.result, key);
    return call->base.result;
}
