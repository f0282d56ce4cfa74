# SPDX-License-Identifier: Apache-2.0
"""Compiles attention with --ring-attention=auto and with each form, and compares what auto estimated with the plans.

Arguments: the machine, or `own` for that of the target, then the number of positions, of heads, of heads of keys and of ranks, `causal`, `window` or
`all`, and options of weft-compile. Prints which form was taken and why; with `print` for options the step alone.
"""
import re
import subprocess
import sys

MASKS = {"causal": ", right = 0", "window": ", left = 1023, right = 0", "all": ""}
# The figures of --stats are rounded.
TOLERANCE = 0.01
FORMS = {"gathered keys": "never", "a ring": "always", "a balanced ring": "balanced"}


def make_step(length: int, heads: int, shared: int, ranks: int, mask: str) -> str:
    q, k = f"tensor<1x{length}x{shared}x{heads // shared}x128xbf16>", f"tensor<1x{length}x{shared}x128xbf16>"
    lse = f"tensor<1x{shared}x{heads // shared}x{length}xf32>"
    maps = {"q": "b, i, h, g, d", "k": "b, j, h, d", "v": "b, j, h, e", "out": "b, i, h, g, e", "lse": "b, h, g, i"}
    config = f"config = #weft.attention<scale = 0.088 : f32{MASKS[mask]}>, indexing_maps = [#q, #k, #v, #out, #lse"
    rows, columns = ("{" + f"weft.name = \"%s\", weft.sharding = #weft.sharding<@mesh, [{{}}, {{\"cp\"}}, {{}}{more}]>" + "}"
                     for more in (", {}, {}", ", {}"))
    return "\n".join([
        *(f"#{name} = affine_map<(b, h, g, i, j, d, e) -> ({dims})>" for name, dims in maps.items()),
        f'weft.mesh @mesh = <["cp"={ranks}]>',
        f"func.func @step(%q: {q} {rows % 'q'}, %k: {k} {columns % 'k'}, %v: {k} {columns % 'v'}, %dout: {q} {rows % 'dout'})",
        f"  -> ({q} {rows % 'out'}, {q} {rows % 'dq'}, {k} {columns % 'dk'}, {k} {columns % 'dv'}) {{",
        f"  %out, %lse = weft.attention %q, %k, %v {{{config}]}} : ({q}, {k}, {k}) -> ({q}, {lse})",
        "  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %out, %lse, %dout "
        f"{{{config}, #out, #q, #k, #v]}} : ({q}, {k}, {k}, {q}, {lse}, {q}) -> ({q}, {k}, {k})",
        f"  return %out, %dq, %dk, %dv : {q}, {q}, {k}, {k}", "}", ""])


def compile_step(step: str, machine: str, form: str, *options: str) -> tuple[int, float, str]:
    """The bytes of the arena, the milliseconds of the step, and what was said.

    Nothing is kept that the form computes again: that comes later, and no estimate knows of it.
    """
    named = [] if machine == "own" else ["--machine", machine]
    command = ["weft-compile", "-", "-o", "-", *named, "--ring-attention", form, "--no-proofs",
               "--recompute", "marked", "--to", "planned", "--stats", "--remarks", *options]
    said = subprocess.run(command, input=step, text=True, capture_output=True, check=True).stderr
    arena, step_ms = re.search(r"\n  arena +(\d+) B", said), re.search(r"\n  step +([0-9.]+) (ms|us)", said)
    assert arena and step_ms, said
    return int(arena[1]), float(step_ms[1]) / (1 if step_ms[2] == "ms" else 1000), said


def main() -> None:
    machine, length, heads, shared, ranks, mask, *options = sys.argv[1:]
    step = make_step(int(length), int(heads), int(shared), int(ranks), mask)
    if options == ["print"]:
        print(step)
        return
    said = compile_step(step, machine, "auto", *options)[2]
    remark = re.search(r"keys (travel|are gathered)[^\n]*?, (as [^:]*): ([^\"\n]*)", said)
    assert remark, said
    print(remark[0])
    for form, estimated, ns in re.findall(r"(\w[a-z ]+) (\d+) bytes(?: and (\d+) ns)?", remark[3]):
        if form == "a ring" and mask == "causal":
            continue  # cannot be asked for: what travels is balanced where that is faster
        try:
            planned, step_ms, _ = compile_step(step, machine, FORMS[form], *options)
        except subprocess.CalledProcessError as error:
            assert "of the memory limit" in error.stderr, error.stderr
            print(f"{form}: over the limit")
            continue
        assert abs(int(estimated) / planned - 1) < TOLERANCE, f"{form}: {estimated} bytes estimated, {planned} planned"
        assert not ns or abs(int(ns) / 1e6 / step_ms - 1) < TOLERANCE, f"{form}: {ns} ns estimated, {step_ms} ms planned"
        print(f"{form}: as estimated")


main()
