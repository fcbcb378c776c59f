"""Every package says what it is for and what it must never do; every module says what it is for."""

import ast


def test_every_package_says_its_job_and_what_it_must_never_do(modules, report):
    report(
        [
            f"{module.path}: the docstring must say what this package must never do (with the word 'never')"
            for module in modules
            if module.path.endswith("__init__.py") and "never" not in (ast.get_docstring(module.tree) or "").lower()
        ]
    )


def test_every_module_says_its_job(modules, report):
    report([f"{module.path}: no docstring" for module in modules if not ast.get_docstring(module.tree)])
