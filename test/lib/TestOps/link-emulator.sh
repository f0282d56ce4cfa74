#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Links a program whose kernels are emulated: the C++ compiler's driver, with
# the emulator of the build along whose tools it is called.
exec c++ "$@" "$(dirname "$(command -v weft-test-opt)")/../lib/libweft-emulator.a"
