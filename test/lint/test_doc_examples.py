# SPDX-License-Identifier: Apache-2.0
"""check-doc-examples.py refuses examples that are not what weft does, and descriptions without one."""
import pytest

TABLE = """
def ApplyMeshPass : Pass<"weft-apply-mesh", "::mlir::ModuleOp"> {
  let description = [{
    Example:
    ```mlir
    weft.mesh @mesh = <["dp"=2]>
    ```
    `weft-opt --weft-apply-mesh=mesh=dp=8` makes of it:
    ```mlir
    module {
      weft.mesh @mesh = <["dp" = 8]>
    }
    ```
  }];
}
def Weft_MeshOp : Weft_Op<"mesh", [Symbol]> {
  let description = [{
    ```mlir
    weft.mesh @mesh = <["dp"=2]>
    ```
  }];
}
def Weft_AxesAttr : Weft_Attr<"Axes", "axes"> {
  let description = [{
    ```mlir
    module attributes {test.axes = #weft.axes<{"dp"}>} {
    }
    ```
  }];
}
"""
PAGE = """# A page

```mlir
weft.mesh @mesh = <["dp"=2]>
```

`weft-opt --weft-apply-mesh=mesh=tp=8` refuses it:

```text
error: 'weft.mesh' op has no axis 'tp' ... 8: #weft.mesh<["dp"=2]>
```

New file `test/new.mlir`:

```mlir
weft.not_yet
```
"""
FILES = {"include/Passes.td": TABLE, "docs/page.md": PAGE}


@pytest.fixture
def examples(tree):
    for name, text in FILES.items():
        tree.write(name, text)
    return tree


def test_passes(examples):
    assert examples.check("check-doc-examples.py") == []


@pytest.mark.parametrize("file, old, new, problem", [
    ("include/Passes.td", '"dp" = 8', '"dp" = 4', "include/Passes.td:8: `weft-opt --weft-apply-mesh=mesh=dp=8` makes "
     "something else:"),
    ("include/Passes.td", "--weft-apply-mesh=", "--weft-mesh=", "include/Passes.td:2: ApplyMeshPass has no example that "
     "runs --weft-apply-mesh"),
    ("include/Passes.td", "makes of it", "makes", "include/Passes.td:2: ApplyMeshPass has no example that runs "
     "--weft-apply-mesh"),
    ("include/Passes.td", '<"mesh", [', '<"channel", [', "include/Passes.td:16: Weft_MeshOp has no example with channel"),
    ("include/Passes.td", "```mlir\n    module attr", "```text\n    module attr", "include/Passes.td:23: Weft_AxesAttr "
     "has no example"),
    ("include/Passes.td", '#weft.axes<{"dp"}>', "#weft.axes<2>", "include/Passes.td:26: <stdin>:1:43: error: "),
    ("docs/page.md", "no axis 'tp'", "no axis 'dp'", "docs/page.md:7: `weft-opt --weft-apply-mesh=mesh=tp=8` does not "
     "print `error: 'weft.mesh' op has no axis 'dp' ..."),
    ("docs/page.md", "mesh=tp=8", "mesh=dp=8", "docs/page.md:7: `weft-opt --weft-apply-mesh=mesh=dp=8` ends with 0:"),
    ("docs/page.md", "New file", "A file", "docs/page.md:16: <stdin>:1:1: error: custom op 'weft.not_yet' is unknown"),
])
def test_faults(examples, file, old, new, problem):
    examples.replace(file, old, new)
    assert problem in [line[:len(problem)] for line in examples.check("check-doc-examples.py")]
