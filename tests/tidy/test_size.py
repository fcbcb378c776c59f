"""Small parts. The limits are a ratchet: what is over them is listed by name, and the list may only shrink."""

import ast
from pathlib import Path

MODULE_LINES_MAX = 400
FUNCTION_LINES_WANTED = 40
FUNCTION_LINES_MAX = 70
PARAMETERS_MAX = 6
LONG_FUNCTIONS = Path(__file__).with_name("long_functions.txt")


def test_modules_are_small(modules, report):
    report(
        [
            f"{module.path}: {lines} lines, {MODULE_LINES_MAX} at most"
            for module in modules
            if (lines := len(module.text.splitlines())) > MODULE_LINES_MAX
        ]
    )


def test_functions_are_short(modules, report):
    allowed = _allowed()
    findings = []
    for module in modules:
        for name, function in module.functions():
            lines, key = _length(function), f"{module.name}.{name}"
            if lines > FUNCTION_LINES_MAX:
                findings.append(
                    f"{module.path}:{function.lineno} {name}: {lines} lines, never over {FUNCTION_LINES_MAX}"
                )
            elif lines > max(FUNCTION_LINES_WANTED, allowed.get(key, 0)):
                findings.append(
                    f"{module.path}:{function.lineno} {name}: {lines} lines, {FUNCTION_LINES_WANTED} at most"
                )
    report(findings)


def test_the_list_of_long_functions_only_shrinks(modules, report):
    lengths = {f"{module.name}.{name}": _length(f) for module in modules for name, f in module.functions()}
    report(
        [
            f"{LONG_FUNCTIONS.name}: {name} has {lengths.get(name, 0)} lines now: lower its number, or remove its line"
            for name, lines in _allowed().items()
            if lengths.get(name, 0) < lines
        ]
    )


def test_functions_take_few_parameters(modules, report):
    report(
        [
            f"{module.path}:{function.lineno} {name}: {count} parameters, {PARAMETERS_MAX} at most"
            for module in modules
            for name, function in module.functions()
            if (count := _parameters(function)) > PARAMETERS_MAX
        ]
    )


def _allowed() -> dict[str, int]:
    """`dotted.name lines` by line; `#` begins a remark."""
    lines = (line.partition("#")[0].split() for line in LONG_FUNCTIONS.read_text().splitlines())
    return {name: int(count) for name, count in filter(None, lines)}


def _length(function) -> int:
    """The lines from `def` to the end, without the docstring: prose is never too long by this measure."""
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function, clean=False) is not None:
        docstring = function.body[0]
        lines -= docstring.end_lineno - docstring.lineno + 1
    return lines


def _parameters(function) -> int:
    """All parameters but self and cls, and but those that are words of a command line."""
    args = function.args
    named = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    defaults = {
        **dict(zip(args.args[::-1], args.defaults[::-1], strict=False)),
        **dict(zip(args.kwonlyargs, args.kw_defaults, strict=True)),
    }
    if any(_mentions_typer_command(decorator) for decorator in function.decorator_list):
        return 0
    return sum(
        arg.arg not in {"self", "cls"}
        and not _is_command_line(arg.annotation)
        and not _is_command_line(defaults.get(arg))
        for arg in named
    )


def _is_command_line(node) -> bool:
    return node is not None and any(
        isinstance(part, ast.Attribute) and part.attr in {"Option", "Argument"} for part in ast.walk(node)
    )


def _mentions_typer_command(decorator) -> bool:
    return isinstance(decorator, ast.Call) and getattr(decorator.func, "attr", "") in {"command", "callback"}
