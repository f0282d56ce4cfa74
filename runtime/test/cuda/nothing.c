/* SPDX-License-Identifier: Apache-2.0 */

/* A library without the functions that somebody looks for. */

int emulated_nothing;
