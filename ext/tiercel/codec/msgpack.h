/* The first bytes of the msgpack formats that plain data uses (the specification of msgpack.org). */
#ifndef TIERCEL_MSGPACK_H
#define TIERCEL_MSGPACK_H

enum {
    MP_FIXMAP = 0x80,   /* low 4 bits: size */
    MP_FIXARRAY = 0x90, /* low 4 bits: size */
    MP_FIXSTR = 0xA0,   /* low 5 bits: size */
    MP_NIL = 0xC0,
    MP_FALSE = 0xC2,
    MP_TRUE = 0xC3,
    MP_BIN8 = 0xC4,
    MP_BIN16 = 0xC5,
    MP_BIN32 = 0xC6,
    MP_EXT8 = 0xC7,
    MP_EXT16 = 0xC8,
    MP_EXT32 = 0xC9,
    MP_FLOAT64 = 0xCB,
    MP_UINT8 = 0xCC,
    MP_UINT16 = 0xCD,
    MP_UINT32 = 0xCE,
    MP_UINT64 = 0xCF,
    MP_INT8 = 0xD0,
    MP_INT16 = 0xD1,
    MP_INT32 = 0xD2,
    MP_INT64 = 0xD3,
    MP_FIXEXT1 = 0xD4,
    MP_FIXEXT2 = 0xD5,
    MP_FIXEXT4 = 0xD6,
    MP_FIXEXT8 = 0xD7,
    MP_FIXEXT16 = 0xD8,
    MP_STR8 = 0xD9,
    MP_STR16 = 0xDA,
    MP_STR32 = 0xDB,
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
