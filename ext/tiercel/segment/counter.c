/* Counters: decimal numbers, which change under the shard's lock. */
#include "change.h"

/* A counter's allocation has room for every 64-bit number, so that an increment always happens in place. */
#define TSEG_COUNTER_BYTES 24u
#define TSEG_COUNTER_DIGITS 20u

/* Parses a canonical decimal number in the signed 64-bit range: no leading zero, no "-0", no other bytes. */
static bool parse_counter(const tseg_entry *entry, int64_t *number)
{
    char digits[TSEG_COUNTER_DIGITS + 4];
    uint32_t count = entry->value_bytes, i = 0;
    bool negative;
    uint64_t magnitude = 0, limit;

    if (count == 0 || count > TSEG_COUNTER_DIGITS) return false;
    tseg_copy_out(digits, entry->value, count);
    negative = digits[0] == '-';
    if ((i = negative) == count || (digits[i] == '0' && count > 1)) return false;
    limit = negative ? UINT64_C(1) << 63 : (UINT64_C(1) << 63) - 1;
    for (; i < count; i++) {
        unsigned digit = (unsigned)(uint8_t)digits[i] - '0';
        if (digit == 0 && i == negative && (count > 1 || negative)) return false; /* 007, -0: no backend counts these */
        if (digit > 9 || magnitude > (limit - digit) / 10) return false;
        magnitude = magnitude * 10 + digit;
    }
    *number = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

static uint32_t format_counter(uint8_t *digits, int64_t number)
{
    uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    uint8_t reversed[TSEG_COUNTER_DIGITS];
    uint32_t count = 0, written = 0;

    do reversed[count++] = (uint8_t)('0' + magnitude % 10); while (magnitude /= 10);
    if (number < 0) digits[written++] = '-';
    while (count) digits[written++] = reversed[--count];
    return written;
}

static tseg_result increment_found(tseg_section *section, tseg_change *change, const tseg_entry *old, int64_t amount,
                                   int64_t *count, uint8_t *digits, tseg_value *value)
{
    int64_t before;

    if (!parse_counter(old, &before) || __builtin_add_overflow(before, amount, count)) return TSEG_NOT_A_COUNTER;
    value->body_bytes = format_counter(digits, *count);
    change->expires_at = old->expires_at;
    change->may_take_empty_slot = false;
    return tseg_change_entry(section, change, old);
}

tseg_result tseg_increment(tseg *segment, const tseg_key *key, int64_t amount, double expires_at, double now,
                           int64_t *count)
{
    uint8_t digits[TSEG_COUNTER_BYTES];
    tseg_value value = {NULL, 0, digits, 0};
    tseg_change change = {.key = key, .value = &value, .expires_at = expires_at,
                          .least_value_bytes = TSEG_COUNTER_BYTES, .may_take_empty_slot = true, .counts_as_hit = true};
    tseg_section section;
    tseg_entry old;
    tseg_result result;
    bool found;

    if (tseg_too_large(segment, &change)) return tseg_refuse(segment);
    result = tseg_enter(&section, segment, key->shard, now);
    if (result != TSEG_OK) return result;
    found = tseg_find(segment, key, &old) == TSEG_OK;
    result = TSEG_ABSENT;
    if (found && tseg_is_live_in(&section, &old))
        result = increment_found(&section, &change, &old, amount, count, digits, &value);
    if (result == TSEG_ABSENT) { /* also after a concurrent delete, which then comes before this call */
        *count = amount;
        value.body_bytes = format_counter(digits, amount);
        change.expires_at = expires_at;
        change.may_take_empty_slot = true;
        result = tseg_change_entry(&section, &change, tseg_find(segment, key, &old) == TSEG_OK ? &old : NULL);
    }
    tseg_leave(&section);
    if (result == TSEG_OK) tseg_count_write(segment);
    return result;
}
