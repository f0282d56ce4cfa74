# SPDX-License-Identifier: Apache-2.0

"""Names of arguments and results from pytree paths, and which result a donated
argument becomes."""

import ast
import inspect
import textwrap

from jax.tree_util import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey


def key_text(key):
    if isinstance(key, SequenceKey):
        return str(key.idx)
    if isinstance(key, GetAttrKey):
        return key.name
    if isinstance(key, (DictKey, FlattenedIndexKey)):
        return str(key.key)
    return str(key)


def parameter_names(fn, count):
    """The names of the first `count` positional parameters."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        parameters = []
    names = []
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            names += [f"{p.name}.{i}" for i in range(count - len(names))]
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            names.append(p.name)
    return names[:count] + [f"arg{i}" for i in range(len(names), count)]


def returned_names(fn):
    """What the function's return statements call the items of the tuple (or the
    one value) that it returns: a list of names, None where it is an expression."""
    try:
        source = textwrap.dedent(inspect.getsource(inspect.unwrap(fn)))
        function = ast.parse(source).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    returns = [n.value for n in _own_nodes(function) if isinstance(n, ast.Return)]
    if len(returns) != 1 or returns[0] is None:
        return None
    items = returns[0].elts if isinstance(returns[0], ast.Tuple) else [returns[0]]
    return [item.id if isinstance(item, ast.Name) else None for item in items]


def _own_nodes(node):
    """The nodes of a function without those of functions inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield child
            yield from _own_nodes(child)


def result_paths(paths, names):
    """Paths of results as texts: the item's name in place of its index, if known.

    `paths` are key paths of the returned pytree. A result whose item has no name
    is called result0, result1, ....
    """
    return [_result_path(path, names) for path in paths]


def _result_path(path, names):
    if not path:
        return [names[0] if names and len(names) == 1 and names[0] else "result0"]
    texts = [key_text(k) for k in path]
    if isinstance(path[0], (SequenceKey, FlattenedIndexKey)):
        index = int(texts[0])
        name = names[index] if names and index < len(names) else None
        texts[0] = name or f"result{index}"
    elif names and len(names) == 1 and names[0]:
        texts.insert(0, names[0])
    return texts


def match_donated(donated, results):
    """Which result each donated argument becomes.

    Both are lists of (path texts, type); `donated` maps argument -> entry. The
    best match by name wins; what has none goes by order, as JAX does it.
    Returns {result index: argument index}.
    """
    alias = {}
    for score in (_same_path, _similar_root, _same_inner_path, lambda a, b: True):
        for argument, (path, type) in donated.items():
            if argument in alias.values():
                continue
            for r, (result_path, result_type) in enumerate(results):
                if r not in alias and type == result_type and score(path, result_path):
                    alias[r] = argument
                    break
    return alias


def _same_path(argument, result):
    return argument == result


def _similar_root(argument, result):
    """params.w and new_params.w, updated_params.w, params_new.w."""
    a, r = argument[0], result[0]
    return argument[1:] == result[1:] and (r.endswith("_" + a) or r.startswith(a + "_"))


def _same_inner_path(argument, result):
    """The same place below the root: what state.opt.w and the returned opt.w share."""
    if len(argument) < 2:
        return False
    return argument[1:] in (result[1:], result)


def unique(names):
    """Makes names unique by a number at the end."""
    used, made = set(names), []
    seen = set()
    for name in names:
        candidate, k = name, 1
        while candidate in seen or (k > 1 and candidate in used):
            k += 1
            candidate = f"{name}_{k}"
        seen.add(candidate)
        made.append(candidate)
    return made
