// SPDX-License-Identifier: Apache-2.0

// What a collective must do, element by element, from the definitions in
// abi.h.

#ifndef WEFT_RT_CTS_REFERENCE_H
#define WEFT_RT_CTS_REFERENCE_H

#include "element.h"

namespace weft::rt::cts {

/// Elements of one member's input and output.
int64_t inputElements(const weft_rt_collective &collective,
                      const weft_rt_operand &operand, int64_t size);
int64_t outputElements(const weft_rt_collective &collective,
                       const weft_rt_operand &operand, int64_t size);

/// The output of member `index` for one operand; `inputs` has every member's
/// input, in group order.
Bytes expectedOutput(const weft_rt_collective &collective,
                     const weft_rt_operand &operand,
                     const std::vector<Bytes> &inputs, int64_t index);

/// Says whether two buffers hold the same elements; NaNs are all the same.
bool sameElements(weft_rt_type type, const Bytes &a, const Bytes &b,
                  int64_t count);

} // namespace weft::rt::cts

#endif // WEFT_RT_CTS_REFERENCE_H
