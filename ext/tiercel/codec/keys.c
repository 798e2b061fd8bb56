/*
 * Keys and versions of the common names, with the results of Rails' normalize_key and normalize_version: Strings,
 * Symbols, objects with a cache_key or a to_param (Integers, nil, dates), and Arrays of these. Rails expands Hashes.
 * test/codec/keys_test.rb compares the results with Rails.
 */
#include "codec.h"

enum {
    MAX_DEPTH = 20,      /* of nested Arrays; Rails expands deeper ones */
    USUAL_KEY_BYTES = 135 /* such a String fills a slot of 160 bytes in Ruby's heap */
};

/* Returns whether the application has not added cache_key or cache_version to the class. */
static bool unchanged(VALUE class)
{
    return !rb_method_boundp(class, rb_intern("cache_key"), 0) &&
           !rb_method_boundp(class, rb_intern("cache_version"), 0);
}

/* Returns whether the name is an instance of exactly this class, which is unchanged, without singleton methods. */
static bool plain(VALUE name, VALUE class) { return CLASS_OF(name) == class && unchanged(class); }

/* Returns whether the String is UTF-8. Rails would relabel the bytes of another encoding. */
static bool text(VALUE string)
{
    return rb_enc_get_index(string) == rb_utf8_encindex() || rb_enc_str_asciionly_p(string);
}

static bool append_text(VALUE key, VALUE part)
{
    if (!text(part)) return false;
    rb_str_cat(key, RSTRING_PTR(part), RSTRING_LEN(part));
    RB_GC_GUARD(part);
    return true;
}

static bool append_name(VALUE key, VALUE name, int depth);

/* A boolean alone, or alone in an Array, is not a valid key. Among other elements a boolean becomes a String. */
static bool is_boolean(VALUE name) { return name == Qtrue || name == Qfalse; }

static bool append_names(VALUE key, VALUE names, int depth)
{
    if (RARRAY_LEN(names) == 1 && is_boolean(RARRAY_AREF(names, 0))) return false;
    for (long at = 0; at < RARRAY_LEN(names); at++) {
        if (at > 0) rb_str_cat(key, "/", 1);
        if (!append_name(key, RARRAY_AREF(names, at), depth + 1)) return false;
    }
    return true;
}

/*
 * Appends the to_param of an object that Rails does not expand itself. Calls the method each time, because an
 * application may have defined another to_param for Integers.
 */
static bool append_param(VALUE key, VALUE name, int depth)
{
    VALUE param;
    if (RB_TYPE_P(name, T_STRING) || RB_TYPE_P(name, T_ARRAY) || RB_TYPE_P(name, T_HASH)) return false;
    param = rb_check_funcall(name, rb_intern("to_param"), 0, NULL);
    if (param == Qundef) return false;
    if (NIL_P(param)) return true;
    if (is_boolean(param)) return depth > 0 && param == name && append_text(key, rb_obj_as_string(param));
    return RB_TYPE_P(param, T_STRING) && rb_obj_class(param) == rb_cString && append_text(key, param);
}

/* Returns false for a name that Rails has to expand. */
static bool append_name(VALUE key, VALUE name, int depth)
{
    if (depth > MAX_DEPTH) return false;
    if (SYMBOL_P(name)) return append_text(key, rb_sym2str(name));
    if (plain(name, rb_cString)) return append_text(key, name);
    if (plain(name, rb_cArray)) return append_names(key, name, depth);
    if (rb_obj_class(name) == rb_cString || rb_obj_class(name) == rb_cArray) return false;
    if (!rb_respond_to(name, rb_intern("cache_key"))) return append_param(key, name, depth);
    return append_text(key, rb_obj_as_string(rb_funcall(name, rb_intern("cache_key"), 0)));
}

static long most_bytes(VALUE max_bytes) { return RTEST(max_bytes) ? NUM2LONG(max_bytes) : LONG_MAX; }

/* Returns whether the name is a valid key without changes. The caller has checked that String is unchanged. */
static bool own_key(VALUE name, long max_bytes)
{
    return CLASS_OF(name) == rb_cString && RSTRING_LEN(name) > 0 && RSTRING_LEN(name) <= max_bytes && text(name);
}

/* Returns nil for a name that Rails has to normalize. */
static VALUE build_key(VALUE name, VALUE namespace, long max_bytes)
{
    VALUE key = rb_str_buf_new(USUAL_KEY_BYTES);
    long prefix_bytes;
    rb_enc_associate_index(key, rb_utf8_encindex());
    if (!NIL_P(namespace)) {
        if (!append_text(key, namespace)) return Qnil;
        rb_str_cat(key, ":", 1);
    }
    prefix_bytes = RSTRING_LEN(key);
    if (!append_name(key, name, 0)) return Qnil;
    if (RSTRING_LEN(key) == prefix_bytes || RSTRING_LEN(key) > max_bytes) return Qnil;
    return rb_obj_freeze(key);
}

/* key(name, namespace or nil, max_bytes or nil): String, or nil for a name that Rails has to normalize */
static VALUE key_of(VALUE self, VALUE name, VALUE namespace, VALUE max_bytes)
{
    long most = most_bytes(max_bytes);
    if (!NIL_P(namespace)) Check_Type(namespace, T_STRING);
    else if (own_key(name, most) && unchanged(rb_cString)) return name;
    return build_key(name, namespace, most);
}

/*
 * keys(names, namespace, max_bytes or nil): Array of the keys. The method returns `names` if all names are valid keys,
 * and nil if Rails has to normalize one of them.
 */
static VALUE keys_of(VALUE self, VALUE names, VALUE namespace, VALUE max_bytes)
{
    long most = most_bytes(max_bytes), at = 0;
    VALUE keys;
    Check_Type(names, T_ARRAY);
    if (!NIL_P(namespace)) Check_Type(namespace, T_STRING);
    else if (unchanged(rb_cString)) while (at < RARRAY_LEN(names) && own_key(RARRAY_AREF(names, at), most)) at++;
    if (at == RARRAY_LEN(names)) return names;
    keys = rb_ary_new_capa(RARRAY_LEN(names));
    for (at = 0; at < RARRAY_LEN(names); at++) {
        VALUE key = key_of(self, RARRAY_AREF(names, at), namespace, max_bytes);
        if (NIL_P(key)) return Qnil;
        rb_ary_push(keys, key);
    }
    RB_GC_GUARD(names);
    return keys;
}

/*
 * frozen(keys): Array of frozen copies for use as Hash keys; a Hash would intern unfrozen Strings, which costs as much
 * as a read. The method returns `keys` if all keys are frozen.
 */
static VALUE frozen_keys(VALUE self, VALUE keys)
{
    long at = 0;
    VALUE copies;
    Check_Type(keys, T_ARRAY);
    while (at < RARRAY_LEN(keys) && OBJ_FROZEN(RARRAY_AREF(keys, at))) at++;
    if (at == RARRAY_LEN(keys)) return keys;
    copies = rb_ary_new_capa(RARRAY_LEN(keys));
    for (at = 0; at < RARRAY_LEN(keys); at++) {
        VALUE key = RARRAY_AREF(keys, at);
        rb_ary_push(copies, RB_TYPE_P(key, T_STRING) && !OBJ_FROZEN(key) ? rb_str_new_frozen(key) : key);
    }
    RB_GC_GUARD(keys);
    return copies;
}

static VALUE no_versions(void) { return rb_usascii_str_new("", 0); }

static VALUE own_version(VALUE name)
{
    VALUE version;
    if (!rb_respond_to(name, rb_intern("cache_version"))) {
        if (NIL_P(name)) return no_versions(); /* Rails treats nil as an empty Array */
        return rb_respond_to(name, rb_intern("to_a")) ? Qfalse : Qnil;
    }
    version = rb_funcall(name, rb_intern("cache_version"), 0);
    if (NIL_P(version) || rb_obj_class(version) == rb_cString) return version;
    return rb_funcall(version, rb_intern("to_param"), 0);
}

/* An Array always has a version, which may be empty. Rails does the same. */
static VALUE find_version(VALUE name, int depth)
{
    VALUE version = Qnil;
    long found = 0;
    if (SYMBOL_P(name) || plain(name, rb_cString)) return Qnil;
    if (!plain(name, rb_cArray)) return own_version(name);
    if (depth > MAX_DEPTH) return Qfalse;
    for (long at = 0; at < RARRAY_LEN(name); at++) {
        VALUE one = find_version(RARRAY_AREF(name, at), depth + 1);
        if (NIL_P(one)) continue;
        if (!RB_TYPE_P(one, T_STRING)) return Qfalse;
        if (found == 1) version = rb_str_dup(version);
        if (found++ == 0) version = one;
        else rb_str_append(rb_str_cat(version, "/", 1), one);
    }
    RB_GC_GUARD(name);
    return found ? version : no_versions();
}

/* version(name): String or nil; false if Rails has to compute the version */
static VALUE version_of(VALUE self, VALUE name) { return find_version(name, 0); }

/* A call with no other options than these merges none. Rails' merged_options handles others, and reports mistakes. */
static VALUE expires_in, namespace, race_condition_ttl, skip_nil, tags, version; /* Symbols */

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
           lasts(rb_attr_get(seconds, rb_intern("@value")));
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
    return (RB_TYPE_P(tag, T_OBJECT) || RB_TYPE_P(tag, T_STRUCT)) && rb_respond_to(tag, rb_intern("model_name"));
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

void init_keys(VALUE module)
{
    rb_define_singleton_method(module, "key", key_of, 3);
    rb_define_singleton_method(module, "keys", keys_of, 3);
    rb_define_singleton_method(module, "frozen", frozen_keys, 1);
    rb_define_singleton_method(module, "version", version_of, 1);
    expires_in = ID2SYM(rb_intern("expires_in"));
    namespace = ID2SYM(rb_intern("namespace"));
    race_condition_ttl = ID2SYM(rb_intern("race_condition_ttl"));
    skip_nil = ID2SYM(rb_intern("skip_nil"));
    tags = ID2SYM(rb_intern("tags"));
    version = ID2SYM(rb_intern("version"));
    rb_define_singleton_method(module, "naming_options", naming_options, 4);
    rb_define_singleton_method(module, "lasts?", lasts_p, 1);
}
