/* SPDX-License-Identifier: Apache-2.0 */

/* How the test program `accumulate` can be made to misbehave: values of its
 * argument `mode`. Just one rank does. */

#ifndef WEFT_RT_TEST_PROGRAMS_ACCUMULATE_H
#define WEFT_RT_TEST_PROGRAMS_ACCUMULATE_H

#include "weft-rt/abi.h"

enum {
  ACCUMULATE_WELL = 0,
  ACCUMULATE_FAIL = 1,             /* calls api->fail */
  ACCUMULATE_ABSENT = 2,           /* returns before the first collective */
  ACCUMULATE_OTHER_COLLECTIVE = 3, /* starts another one than the others */
  ACCUMULATE_TRUTH_SUM = 4,        /* asks for a sum of truth values */
  ACCUMULATE_NO_CHANNEL = 5,       /* names a channel that is not there */
  ACCUMULATE_OVERLAP = 6,          /* gives overlapping buffers */
  ACCUMULATE_WAIT_TWICE = 7,       /* waits twice for one ticket */
  ACCUMULATE_NO_WAIT = 8,          /* ends with a collective not waited for */
  ACCUMULATE_HANG = 9,             /* never returns */
  ACCUMULATE_CRASH = 10,           /* is killed by a signal */
  ACCUMULATE_CRASH_HELPER = 11,    /* a helper is, if there is one */
  ACCUMULATE_BAD_BUFFER = 12,      /* who moves its data is */
  ACCUMULATE_NO_KERNEL = 13,       /* launches a kernel that is not there */
  ACCUMULATE_NO_GRAIN = 14,        /* launches without a grain */
  ACCUMULATE_NO_CONFIG = 15        /* launches with no numbers where two are */
};

enum { ACCUMULATE_BAD_RANK = 2 };

#endif /* WEFT_RT_TEST_PROGRAMS_ACCUMULATE_H */
