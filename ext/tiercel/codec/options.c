/* The options that the store's fast path knows. Rails' own methods handle all others, and report invalid ones. */
#include "codec.h"

static VALUE expires_in, namespace, race_condition_ttl, skip_nil, tags, version; /* Symbols */
static ID id_model_name, id_value;

static VALUE duration_class(void)
{
    static VALUE class;

    if (!class) rb_gc_register_mark_object(class = rb_path2class("ActiveSupport::Duration"));
    return class;
}

/* Returns whether the value is a positive number of seconds. Rails handles the rare classes of numbers. */
static bool lasts(VALUE seconds)
{
    if (FIXNUM_P(seconds)) return FIX2LONG(seconds) > 0;
    if (RB_FLOAT_TYPE_P(seconds)) return RFLOAT_VALUE(seconds) > 0;
    return RB_TYPE_P(seconds, T_OBJECT) && RBASIC_CLASS(seconds) == duration_class() &&
           lasts(rb_attr_get(seconds, id_value));
}

/*
 * Returns whether the value is a tag: a String or Symbol of 1 to `bytes` bytes, or a record. A read does not need a
 * record's name.
 */
static bool usual_tag(VALUE tag, long bytes)
{
    if (SYMBOL_P(tag)) tag = rb_sym2str(tag);
    if (RB_TYPE_P(tag, T_STRING))
        return RBASIC_CLASS(tag) == rb_cString && RSTRING_LEN(tag) > 0 && RSTRING_LEN(tag) <= bytes;
    return (RB_TYPE_P(tag, T_OBJECT) || RB_TYPE_P(tag, T_STRUCT)) && rb_respond_to(tag, id_model_name);
}

/* Returns whether `names` is a tag, or an Array of at most `most` tags. */
static bool usual_tags(VALUE names, long most, long bytes)
{
    if (!RB_TYPE_P(names, T_ARRAY)) return usual_tag(names, bytes);
    if (RARRAY_LEN(names) > most) return false;
    for (long at = 0; at < RARRAY_LEN(names); at++)
        if (!usual_tag(RARRAY_AREF(names, at), bytes)) return false;
    return true;
}

/* Returns whether the value is plain, so that reading it runs no code of the application. */
static bool plain_namespace(VALUE name)
{
    return NIL_P(name) || SYMBOL_P(name) || (RB_TYPE_P(name, T_STRING) && RBASIC_CLASS(name) == rb_cString);
}

/*
 * naming_options(options, most_tags or nil, tag_bytes, versions): `options` if the key or the version depends on them,
 * nil if neither does, false if Rails has to handle one of them. most_tags: maximum number of tags; nil if a read needs
 * the tags. versions: whether to accept a version.
 */
static VALUE naming_options(VALUE self, VALUE options, VALUE most_tags, VALUE tag_bytes, VALUE versions)
{
    size_t known = 0, all;
    VALUE name;

    if (!RB_TYPE_P(options, T_HASH)) return Qfalse;
    all = RHASH_SIZE(options);
    known += lasts(rb_hash_lookup(options, expires_in));
    if (known == all) return Qnil;
    if (RTEST(most_tags))
        known += usual_tags(rb_hash_lookup(options, tags), NUM2LONG(most_tags), NUM2LONG(tag_bytes));
    if (known == all) return Qnil;
    known += lasts(rb_hash_lookup(options, race_condition_ttl));
    known += rb_hash_lookup(options, skip_nil) == Qtrue;
    if (known == all) return Qnil;
    known += RTEST(versions) && rb_hash_lookup2(options, version, Qundef) != Qundef;
    name = rb_hash_lookup2(options, namespace, Qundef);
    known += name != Qundef && plain_namespace(name);
    return known == all ? options : Qfalse;
}

/* lasts?(seconds): whether it is a positive Integer, Float or ActiveSupport::Duration */
static VALUE lasts_p(VALUE self, VALUE seconds) { return lasts(seconds) ? Qtrue : Qfalse; }

void init_options(VALUE module)
{
    expires_in = ID2SYM(rb_intern("expires_in"));
    namespace = ID2SYM(rb_intern("namespace"));
    race_condition_ttl = ID2SYM(rb_intern("race_condition_ttl"));
    skip_nil = ID2SYM(rb_intern("skip_nil"));
    tags = ID2SYM(rb_intern("tags"));
    version = ID2SYM(rb_intern("version"));
    id_model_name = rb_intern("model_name");
    id_value = rb_intern("@value");
    rb_define_singleton_method(module, "naming_options", naming_options, 4);
    rb_define_singleton_method(module, "lasts?", lasts_p, 1);
}
