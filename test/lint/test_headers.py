# SPDX-License-Identifier: Apache-2.0
"""check-headers.py sees a missing licence line and a wrong guard."""

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"


def test_headers(tree):
    tree.write("include/weft/A.h", LICENCE + "#ifndef WEFT_A_H\n#define WEFT_A_H\n#endif\n")
    tree.write("lib/A.cpp", LICENCE)
    assert tree.check("check-headers.py") == []
    tree.write("lib/A.cpp", "int a;\n")
    tree.write("include/weft/A.h", LICENCE + "#ifndef WEFT_B_H\n#define WEFT_B_H\n#endif\n")
    assert tree.check("check-headers.py") == ["include/weft/A.h: include guard is not WEFT_A_H",
                                              "lib/A.cpp: no licence line"]
