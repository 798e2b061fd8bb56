/* The first bytes of the msgpack formats that plain data uses (the specification of msgpack.org). */
#ifndef TIERCEL_MSGPACK_H
#define TIERCEL_MSGPACK_H

/*
 * Where a name ends in 8, the next bytes are the formats with two and four bytes of size (of integers: up to eight).
 */
enum {
    MP_FIXMAP = 0x80,   /* low 4 bits: size */
    MP_FIXARRAY = 0x90, /* low 4 bits: size */
    MP_FIXSTR = 0xA0,   /* low 5 bits: size */
    MP_NIL = 0xC0,
    MP_FALSE = 0xC2,
    MP_TRUE = 0xC3,
    MP_BIN8 = 0xC4,
    MP_EXT8 = 0xC7,
    MP_FLOAT64 = 0xCB,
    MP_UINT8 = 0xCC,
    MP_UINT64 = 0xCF,
    MP_INT8 = 0xD0,
    MP_INT64 = 0xD3,
    MP_FIXEXT1 = 0xD4, /* then of 2, 4, 8 and 16 bytes */
    MP_FIXEXT16 = 0xD8,
    MP_STR8 = 0xD9,
    MP_ARRAY16 = 0xDC,
    MP_ARRAY32 = 0xDD,
    MP_MAP16 = 0xDE,
    MP_MAP32 = 0xDF,
    MP_NEGATIVE_FIXINT = 0xE0,

    /* Extension types that plain data uses. */
    EXT_SYMBOL = 0,
    EXT_US_ASCII = 1,

    /* The greatest depth of nested Arrays and Hashes. */
    PLAIN_MAX_DEPTH = 100,
    /* Frozen Strings up to this size may occur more than once. */
    PLAIN_SHARED_STRING_BYTES = 1024,
};

#endif
