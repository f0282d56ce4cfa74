# SPDX-License-Identifier: Apache-2.0
"""check-format.py sees files that clang-format would change, and mends them."""


def test_format(tree):
    tree.write(".clang-format", "BasedOnStyle: LLVM\n")
    tree.write("lib/Good.cpp", "int value = 1;\n")
    assert tree.check("check-format.py") == []
    tree.write("runtime/bad.h", "int value = 1;\nint  other=2;\nint  more=2;\n")
    tree.write("tools/bad.c", "int  other=2;\n")
    assert tree.check("check-format.py") == ["runtime/bad.h:2: not formatted", "tools/bad.c:1: not formatted"]
    assert tree.check("check-format.py", "--fix") == []
    assert tree.check("check-format.py") == []
    assert (tree.folder / "runtime/bad.h").read_text() == "int value = 1;\nint other = 2;\nint more = 2;\n"
