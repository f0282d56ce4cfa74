// SPDX-License-Identifier: Apache-2.0

// Skips the tests of instruction sets that this machine lacks.

#include "gemm_test_fixture.h"

namespace weft::rt::test {

void IsaTest::SetUp() {
  if (!forceIsa(GetParam()))
    GTEST_SKIP() << "no " << isaName(GetParam()) << " here";
}

void IsaTest::TearDown() { forceIsa(detectIsa()); }

std::string nameOfIsa(const testing::TestParamInfo<Isa> &info) {
  return isaName(info.param);
}

} // namespace weft::rt::test
