// SPDX-License-Identifier: Apache-2.0

// Runs a compiled step: see runtime/tool, which executables share.

#include "tool/tool.h"

int main(int argc, char **argv) {
  return weft_rt_tool_main(argc, argv, nullptr);
}
