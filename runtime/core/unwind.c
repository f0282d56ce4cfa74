/* SPDX-License-Identifier: Apache-2.0 */

/* setjmp and longjmp, without the signal mask: entering costs a few stores. */

#include "core/unwind.h"

int weft_rt_enter(jmp_buf *home, weft_rt_task task, void *context,
                  weft_rt_rank *rank) {
  if (_setjmp(*home))
    return 0;
  task(context, rank);
  return 1;
}

void weft_rt_leave(jmp_buf *home) { longjmp(*home, 1); }
