// SPDX-License-Identifier: Apache-2.0

// The main function of executables that weft-compile writes. It lies in the
// library, and is linked where nobody else defines one.

#include "tool/tool.h"

int main(int argc, char **argv) {
  return weft_rt_tool_main(argc, argv, &weft_program);
}
