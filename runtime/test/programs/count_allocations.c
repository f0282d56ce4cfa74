/* SPDX-License-Identifier: Apache-2.0 */

/* Runs steps of a program on arguments that are zero and prints how often the
 * process allocated memory during each: a step must not at all. It counts by
 * standing in for the C library's allocator, on which C++'s is built.
 *
 *   count-allocations step.so [steps] */

#include "weft-rt/session.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static atomic_long allocations;

void *malloc(size_t bytes) {
  atomic_fetch_add(&allocations, 1);
  return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
  atomic_fetch_add(&allocations, 1);
  return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes) {
  atomic_fetch_add(&allocations, 1);
  return __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
  atomic_fetch_add(&allocations, 1);
  return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}

int posix_memalign(void **result, size_t alignment, size_t bytes) {
  *result = memalign(alignment, bytes);
  return *result ? 0 : ENOMEM;
}

static int check(weft_rt_status status) {
  if (status != WEFT_RT_OK)
    fprintf(stderr, "error: %s\n", weft_rt_last_error());
  return status == WEFT_RT_OK;
}

static int setArguments(weft_rt_session *session) {
  const weft_rt_program *program = weft_rt_session_program(session);
  for (int32_t i = 0; i < program->num_args; ++i) {
    int64_t bytes = weft_rt_tensor_bytes(&program->args[i]);
    void *zeros = calloc(bytes, 1);
    int isSet = check(weft_rt_session_set_argument(session, i, zeros, bytes));
    free(zeros);
    if (!isSet)
      return 0;
  }
  return 1;
}

int main(int argc, char **argv) {
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  weft_rt_session *session;
  int steps = argc > 2 ? atoi(argv[2]) : 3;
  if (argc < 2 || !check(weft_rt_session_open(argv[1], &options, &session)) ||
      !setArguments(session))
    return 1;
  for (int i = 1; i <= steps; ++i) {
    long before = atomic_load(&allocations);
    if (!check(weft_rt_session_run(session, 1, NULL)))
      return 1;
    long count = atomic_load(&allocations) - before;
    printf("step %d: %ld allocations\n", i, count);
  }
  weft_rt_session_close(session);
  return 0;
}
