/* Linked with --wrap=mmap: every large map gets an inaccessible page on each side. */
#ifndef TIERCEL_TEST_GUARD_H
#define TIERCEL_TEST_GUARD_H

#include <stddef.h>
#include <sys/mman.h>

void *__real_mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset);

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset)
{
    const size_t page = 4096;
    size_t pages = (bytes + page - 1) / page * page;
    char *room;

    if (address || bytes < 100 * page) return __real_mmap(address, bytes, protection, flags, descriptor, offset);
    room = __real_mmap(NULL, pages + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return MAP_FAILED;
    return __real_mmap(room + page, bytes, protection, flags | MAP_FIXED, descriptor, offset);
}

#endif
