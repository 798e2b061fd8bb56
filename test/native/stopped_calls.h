/* The calls that stop_test.c stops, each with its preparation and the expected value of the key. */
#ifndef TIERCEL_TEST_STOPPED_CALLS_H
#define TIERCEL_TEST_STOPPED_CALLS_H

#include "check.h"

#define KEY "the key"
#define OLD "old value, of some length"
#define COUNT_OLD "41"

static tseg *segment;
static uint8_t large[150000], buffer[160000];
static tseg_token token;

static tseg_result set_key(const char *text, const void *bytes, size_t count)
{
    tseg_key key = key_of(segment, text);
    tseg_value value = value_of(bytes, count);
    return set_value(segment, &key, &value);
}

static long read_text(const char *text)
{
    tseg_key key = key_of(segment, text);
    long count = read_value(segment, &key, buffer, sizeof buffer - 1, &token);
    if (count >= 0) buffer[count] = 0;
    return count;
}

static bool reads(const char *expected)
{
    return read_text(KEY) == (long)strlen(expected) && memcmp(buffer, expected, strlen(expected)) == 0;
}

/* The calls to stop. Each follows its own preparation. */
typedef struct {
    const char *name;
    void (*prepare)(void);
    void (*run)(void);
    const char *before, *after; /* the expected value of the key; NULL: absent */
    bool brings_back;           /* a delete may run first: then the new value stays */
    bool anything;              /* reads are checked by length and first byte only (large values) */
} stopped_call;

static void old_value(void) { CHECK(set_key(KEY, OLD, strlen(OLD)) == TSEG_OK); }
static void no_value(void) {}
static void old_value_and_token(void)
{
    old_value();
    CHECK(reads(OLD));
}
static void old_count(void) { CHECK(set_key(KEY, COUNT_OLD, 2) == TSEG_OK); }

static void set_in_place(void) { set_key(KEY, "new value", 9); }
static void set_appending(void)
{
    set_key(KEY, "new and so much longer that it does not fit where the old one was", 65);
}
static void add(void)
{
    tseg_key key = key_of(segment, KEY);
    tseg_value value = value_of("added", 5);
    tseg_add(segment, &key, &value, INFINITY, 0);
}
static void compare_in_place(void)
{
    tseg_key key = key_of(segment, KEY);
    tseg_value value = value_of("exchanged", 9);
    tseg_compare_and_set(segment, &key, &value, INFINITY, 0, &token);
}
static void compare_appending(void)
{
    tseg_key key = key_of(segment, KEY);
    tseg_value value = value_of("exchanged for so much more that it does not fit where the old one was", 69);
    tseg_compare_and_set(segment, &key, &value, INFINITY, 0, &token);
}
static void increment(void)
{
    tseg_key key = key_of(segment, KEY);
    int64_t count;
    tseg_increment(segment, &key, 1, INFINITY, 0, &count);
}
static void touch(void)
{
    tseg_key key = key_of(segment, KEY);
    tseg_touch(segment, &key, 9e9, 0);
}
static void near_fill(void)
{
    tseg_key key = key_of(segment, KEY);
    tseg_value value = value_of("filled", 6);
    tseg_near_fill(segment, &key, &value, INFINITY, 0, tseg_near_epoch(segment, &key));
}
static void delete(void)
{
    tseg_key key = key_of(segment, KEY);
    delete_key(segment, &key);
}
static void read_once(void) { read_text(KEY); }

/* Writes other keys until the logs wrap around: a key with hits is promoted, and later re-appended. */
static void fill_small(void)
{
    char text[32];
    for (int i = 0; i < 400; i++) {
        snprintf(text, sizeof text, "small %d", i);
        set_key(text, large, 400);
    }
}
static void fill_main(void)
{
    char text[32];
    for (int i = 0; i < 60; i++) {
        snprintf(text, sizeof text, "large %d", i);
        set_key(text, large, 25000);
    }
}
static void full_main_and_hit_key(void)
{
    fill_main();
    old_value();
    CHECK(reads(OLD));
}
static void hit_key_in_main(void)
{
    full_main_and_hit_key();
    fill_small(); /* promotes it */
    for (int i = 0; i < 3; i++) CHECK(reads(OLD));
}
/* Too large for the small log, and for the space that appends leave: its bytes are freed before they are copied. */
static void hit_large_key_in_main(void)
{
    fill_main();
    memcpy(large, OLD, strlen(OLD));
    CHECK(set_key(KEY, large, 150000) == TSEG_OK);
    for (int i = 0; i < 3; i++) CHECK(read_text(KEY) == 150000);
}

static const stopped_call calls[] = {
    {"set in place", old_value, set_in_place, OLD, "new value", false, false},
    {"set appending", old_value, set_appending, OLD,
     "new and so much longer that it does not fit where the old one was", true, false},
    {"set of a new key", no_value, set_in_place, NULL, "new value", true, false},
    {"add", no_value, add, NULL, "added", true, false},
    {"compare_and_set in place", old_value_and_token, compare_in_place, OLD, "exchanged", false, false},
    {"compare_and_set appending", old_value_and_token, compare_appending, OLD,
     "exchanged for so much more that it does not fit where the old one was", false, false},
    {"increment in place", old_count, increment, COUNT_OLD, "42", true, false},
    {"increment of a new key", no_value, increment, NULL, "1", true, false},
    {"touch", old_value, touch, OLD, OLD, false, false},
    {"near fill", no_value, near_fill, NULL, "filled", true, false},
    {"delete", old_value, delete, OLD, NULL, true, false},
    {"read", old_value, read_once, OLD, OLD, false, false},
    {"promotion", full_main_and_hit_key, fill_small, OLD, OLD, false, false},
    {"re-append", hit_key_in_main, fill_main, OLD, OLD, false, false},
    {"re-append of a large entry", hit_large_key_in_main, fill_main, OLD, OLD, false, true},
};

#endif
