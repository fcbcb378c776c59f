"""The core decides the same from the same input: no clock, no chance, no I/O, no floating point."""

import ast

CORE = "fairgate_scheduler.core"
IMPORTS_ALLOWED = {
    "abc", "bisect", "collections", "dataclasses", "difflib", "enum", "fractions", "functools", "graphlib", "hashlib",
    "heapq", "itertools", "json", "math", "operator", "re", "string", "types", "typing",
}  # fmt: skip
# `hash` and `id` differ from process to process, so an order made of them does too.
NAMES_BANNED = {"__import__", "breakpoint", "eval", "exec", "float", "globals", "hash", "id", "input", "open", "print"}
# What was told from an object is kept for that very object, which is held meanwhile: no order comes of it.
BY_IDENTITY = {f"{CORE}.kinds": {"id"}}
EXACT_MATH = {"ceil", "comb", "floor", "gcd", "isqrt", "lcm", "prod"}
KINDS_BANNED = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Global)


def test_core_imports_only_what_cannot_differ(modules, report):
    report(
        [
            f"{module.path}:{line}: the core does not import {name}"
            for module in _core(modules)
            for name, line in _imports(module.tree)
            if name.partition(".")[0] not in IMPORTS_ALLOWED and name != CORE and not name.startswith(f"{CORE}.")
        ]
    )


def test_core_is_exact_and_deterministic(modules, report):
    report(
        [
            f"{module.path}:{node.lineno}: the core never uses {what}"
            for module in _core(modules)
            for node in ast.walk(module.tree)
            if (what := _banned(node)) and what not in BY_IDENTITY.get(module.name, ())
        ]
    )


def _core(modules):
    core = [module for module in modules if module.name == CORE or module.name.startswith(f"{CORE}.")]
    assert core, "the core has moved: this test looks at nothing"
    return core


def _imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ".", node.lineno


def _banned(node) -> str | None:
    if isinstance(node, KINDS_BANNED):
        return type(node).__name__
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in NAMES_BANNED:
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
        return f"a floating-point number ({node.value})"
    if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "math" and node.attr not in EXACT_MATH:
        return f"math.{node.attr}"
    return None
