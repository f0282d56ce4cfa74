// SPDX-License-Identifier: Apache-2.0

// Stands in where oneDNN is not installed.

#include "peer.h"

std::function<void()> makePeer(const weft_rt_gemm &, void *, void *, void *,
                               int) {
  return {};
}
