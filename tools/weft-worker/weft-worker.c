/* SPDX-License-Identifier: Apache-2.0 */

/* weft-worker: compiles for a program that uses libweft, in a process of its
 * own. Nobody starts it by hand. */

#include "weft-c/Weft.h"

int main(void) { return weft_worker_main(); }
