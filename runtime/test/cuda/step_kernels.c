/* SPDX-License-Identifier: Apache-2.0 */

/* What step.ptx says, for the emulated GPU. */

#include <stdint.h>

void weft_test_add(void **params, const uint32_t *grid, const uint32_t *block,
                   uint32_t shared) {
  float *y = *(float **)params[0];
  const float *bias = *(const float **)params[1];
  int64_t n = *(int64_t *)params[2];
  for (int64_t i = 0; i < (int64_t)grid[0] * block[0]; ++i)
    if (i < n)
      y[i] += bias[i % 4];
}
