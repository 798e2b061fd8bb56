/*
 * The private fields of a Ruby Hash: bits of its flags, its default, and the comparison functions of its table. A call
 * of its methods would let other threads run in the middle of a walk. So this file finds the places of these fields
 * when the extension is loaded, by comparing Hashes that differ in one property.
 */
#include "codec.h"

/* The words that every object of Ruby's heap has. */
enum { FIRST_WORD = sizeof(struct RBasic) / sizeof(VALUE), END_OF_WORDS = 40 / sizeof(VALUE) };

static VALUE flag_default_proc, flag_keywords, flag_table; /* flag_table: the pairs are outside the object */
static int default_at, functions_at;                       /* indexes of words in the object */
static VALUE functions_of_equal_keys;

static inline VALUE word(VALUE object, int at) { return ((const VALUE *)object)[at]; }

static inline VALUE flags(VALUE object) { return RBASIC(object)->flags; }

bool only_pairs(VALUE hash)
{
    if (flags(hash) & (flag_default_proc | flag_keywords)) return false;
    if (!NIL_P(word(hash, default_at))) return false;
    return !(flags(hash) & flag_table) || word(hash, functions_at) == functions_of_equal_keys;
}

/* The user flag in which two objects differ; 0 if they do not differ in exactly one. */
static VALUE one_bit(VALUE object, VALUE other)
{
    VALUE bits = (flags(object) ^ flags(other)) & (((VALUE)FL_USER19 << 1) - (VALUE)FL_USER0);
    return bits & (bits - 1) ? 0 : bits;
}

static VALUE hash_of(int size)
{
    VALUE hash = rb_hash_new();
    for (int at = 0; at < size; at++) rb_hash_aset(hash, INT2FIX(at), Qtrue);
    return hash;
}

static VALUE by_identity(int size) { return rb_funcall(hash_of(size), rb_intern("compare_by_identity"), 0); }

static bool find_flags(VALUE empty)
{
    VALUE keywords = rb_funcall(rb_cHash, rb_intern("ruby2_keywords_hash"), 1, empty);
    flag_keywords = one_bit(keywords, empty);
    flag_default_proc = one_bit(rb_eval_string("Hash.new { nil }"), empty);
    flag_table = one_bit(by_identity(0), empty);
    return flag_keywords && flag_default_proc && flag_table;
}

/* Finds the word of the default, which is nil in a Hash without one. */
static bool find_default(VALUE empty)
{
    VALUE marker = rb_obj_alloc(rb_cObject);
    VALUE with_default = rb_hash_set_ifnone(rb_hash_new(), marker);
    for (int at = FIRST_WORD; at < END_OF_WORDS; at++) {
        if (word(with_default, at) != marker) continue;
        default_at = at;
        return NIL_P(word(empty, at)) && NIL_P(word(hash_of(100), at)) && NIL_P(word(by_identity(1), at));
    }
    return false;
}

/*
 * Finds the word of the comparison functions. It is equal in all Hashes of one kind, and differs between the two kinds.
 */
static bool find_functions(void)
{
    VALUE equal[] = {hash_of(9), hash_of(100), hash_of(1000)};
    VALUE identical[] = {by_identity(0), by_identity(1), by_identity(100)};
    int found = 0;
    for (int at = FIRST_WORD; at < END_OF_WORDS; at++) {
        bool alike = true;
        for (int i = 1; i < 3; i++) {
            alike = alike && word(equal[i], at) == word(equal[0], at) &&
                    word(identical[i], at) == word(identical[0], at);
        }
        if (!alike || word(equal[0], at) == word(identical[0], at)) continue;
        functions_at = at;
        functions_of_equal_keys = word(equal[0], at);
        found++;
    }
    for (int i = 0; i < 3; i++) {
        if (!(flags(equal[i]) & flags(identical[i]) & flag_table)) return false;
    }
    return found == 1;
}

/*
 * If this returns false, loading the extension raises a LoadError, because the extension does not know how this Ruby
 * stores Hashes. A test build with TIERCEL_UNKNOWN_HASH_LAYOUT returns false for every Ruby.
 */
bool init_hash_layout(void)
{
#ifdef TIERCEL_UNKNOWN_HASH_LAYOUT
    return false;
#endif
    VALUE empty = rb_hash_new();
    bool found = find_flags(empty) && find_default(empty) && find_functions();
    RB_GC_GUARD(empty);
    return found;
}
