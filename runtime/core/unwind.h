/* SPDX-License-Identifier: Apache-2.0 */

/* The one place where control leaves compiled code other than by return: a
 * call of the API that fails jumps to where the rank entered the task. Plain C
 * on both ends, so that the frames in between are only those of the compiled
 * program and no C++ destructor is skipped. */

#ifndef WEFT_RT_CORE_UNWIND_H
#define WEFT_RT_CORE_UNWIND_H

#include "weft-rt/abi.h"

#include <setjmp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a rank runs: compiled code's entry within a thin wrapper. */
typedef void (*weft_rt_task)(void *context, weft_rt_rank *rank);

/* Runs the task; 1 when it returned, 0 when it left by weft_rt_leave. */
int weft_rt_enter(jmp_buf *home, weft_rt_task task, void *context,
                  weft_rt_rank *rank);

/* Returns from the weft_rt_enter that filled `home`. */
void weft_rt_leave(jmp_buf *home) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif

#endif /* WEFT_RT_CORE_UNWIND_H */
