/* SPDX-License-Identifier: Apache-2.0 */

/* A shared object that is no program. */

int weft_nothing(void) { return 0; }
