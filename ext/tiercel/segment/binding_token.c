/* Tokens: compare_and_set and the memo identify a version of an entry by its token. */
#include "binding.h"
#include "internal.h"

/* A token in Ruby: the file's id (8 bytes), the origin (8) and the sequence (4). */
enum { TOKEN_ORIGIN_AT = 8, TOKEN_SEQUENCE_AT = 16, TOKEN_BYTES = 20 };

VALUE segment_token_string(const tseg_token *token)
{
    char bytes[TOKEN_BYTES];

    memcpy(bytes, &token->file_id, 8);
    memcpy(bytes + TOKEN_ORIGIN_AT, &token->origin, 8);
    memcpy(bytes + TOKEN_SEQUENCE_AT, &token->sequence, 4);
    return rb_obj_freeze(rb_str_new(bytes, TOKEN_BYTES));
}

bool segment_parse_token(VALUE string, tseg_token *token)
{
    const char *bytes;

    if (!RB_TYPE_P(string, T_STRING) || RSTRING_LEN(string) != TOKEN_BYTES) return false;
    bytes = RSTRING_PTR(string);
    memcpy(&token->file_id, bytes, 8);
    memcpy(&token->origin, bytes + TOKEN_ORIGIN_AT, 8);
    memcpy(&token->sequence, bytes + TOKEN_SEQUENCE_AT, 4);
    return true;
}

/* Segment#unchanged?(key, token) -> whether the key still has the live entry of this token */
static VALUE segment_unchanged(VALUE self, VALUE key_string, VALUE token_string)
{
    tseg *segment = segment_to_read(self);
    tseg_clock clock = {false, 0};
    tseg_token token, found;
    tseg_entry entry;
    tseg_key key;

    if (!segment || !segment_parse_token(token_string, &token)) return Qfalse;
    do {
        segment_key(segment, &key, key_string);
        if (tseg_find(segment, &key, &entry) != TSEG_OK) return Qfalse;
        found = tseg_token_of(segment, &entry);
    } while (!tseg_knows_time(&clock, entry.expires_at) && !segment_ask_time(self, &clock, &segment));
    if (!tseg_is_same(&found, &token) || !tseg_is_live(segment, &entry, clock.now) || !tseg_intact(&entry))
        return Qfalse;
    tseg_hit(segment, &entry);
    RB_GC_GUARD(key_string);
    return Qtrue;
}

void segment_init_token(void) { rb_define_method(tiercel_segment_class, "unchanged?", segment_unchanged, 2); }
