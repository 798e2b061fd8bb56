/* What the store asks of the names of a multi operation, for all of them at once. */
#include "codec.h"

/* Whether it is a String with no methods of its own that a backend may have as it is. */
static bool plain_key(VALUE name, long max_bytes)
{
    if (RB_SPECIAL_CONST_P(name) || RBASIC_CLASS(name) != rb_cString) return false;
    if (RSTRING_LEN(name) == 0 || RSTRING_LEN(name) > max_bytes) return false;
    return rb_enc_get_index(name) == rb_utf8_encindex() || rb_enc_str_asciionly_p(name);
}

/* plain_keys?(names, max_bytes): whether that holds for all of them; without max_bytes, of any length. */
static VALUE plain_keys(VALUE self, VALUE names, VALUE max_bytes)
{
    long most = RTEST(max_bytes) ? NUM2LONG(max_bytes) : LONG_MAX;
    Check_Type(names, T_ARRAY);
    for (long at = 0; at < RARRAY_LEN(names); at++) {
        if (!plain_key(RARRAY_AREF(names, at), most)) return Qfalse;
    }
    return Qtrue;
}

void init_keys(VALUE module) { rb_define_singleton_method(module, "plain_keys?", plain_keys, 2); }
