/* SPDX-License-Identifier: Apache-2.0 */

/* The kernels of the conformance tests as the emulated GPU takes them: each
 * block is one thread and works on one element. */

#include <stdint.h>

const uint32_t scale_param_bytes[] = {8, 8, 8, 0};

void scale(void **params, const uint32_t *grid, const uint32_t *block,
           uint32_t shared) {
  int64_t *values = *(int64_t **)params[0];
  for (uint32_t i = 0; i < grid[0]; ++i)
    values[i] = values[i] * *(int64_t *)params[1] + *(int64_t *)params[2];
}

const uint32_t increment_param_bytes[] = {8, 0};

void increment(void **params, const uint32_t *grid, const uint32_t *block,
               uint32_t shared) {
  float *values = *(float **)params[0];
  for (uint32_t i = 0; i < grid[0]; ++i)
    values[i] += 1;
}
