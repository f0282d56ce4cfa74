// SPDX-License-Identifier: Apache-2.0

// weft-run as a function, for the tool itself and for executables that
// weft-compile writes: those hold their program and take the same flags.

#ifndef WEFT_RT_TOOL_TOOL_H
#define WEFT_RT_TOOL_TOOL_H

#include "weft-rt/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the command line and returns the exit code: 0, 1 (wrong input), 2
 * (wrong use), 3 (a rank failed). `embedded` is the program, or NULL if the
 * command line names one. */
int weft_rt_tool_main(int argc, char **argv, const weft_rt_program *embedded);

#ifdef __cplusplus
}
#endif

#endif // WEFT_RT_TOOL_TOOL_H
