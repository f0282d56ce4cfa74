// SPDX-License-Identifier: Apache-2.0

// A C program around an object and the header that weft-compile wrote for it.
#include "step.h"

#include <stdio.h>
#include <string.h>

int main(void) {
  if (weft_program.num_args != WEFT_NUM_ARGS ||
      weft_program.num_results != WEFT_NUM_RESULTS ||
      strcmp(weft_program.args[WEFT_ARG_w].name, "w") != 0)
    return 1;
  printf("%s: %d arguments\n", weft_program.name, weft_program.num_args);
  return 0;
}
