/* SPDX-License-Identifier: Apache-2.0 */

/* A library that is no program, and that does something when it is loaded. */

#include <stdio.h>

__attribute__((constructor)) static void be(void) {
  FILE *file = fopen("was-here", "w");
  if (file)
    fclose(file);
}
