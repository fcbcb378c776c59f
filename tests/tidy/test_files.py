"""Tracked files work anywhere: nothing in them names one machine, and no link in the docs is dead."""

import re

# Folders of one machine; put together so that this file does not name them.
MACHINE_PATHS = re.compile(
    r"(?<![\w.~*-])/(?:" + "|".join(("work", "root")) + r")(?=[/\s\"'`),;]|$)|/tmp/" + "rig", re.MULTILINE
)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)


def test_no_file_names_a_machine(project_files, root, report):
    findings = []
    for file in project_files:
        try:
            text = file.read_text()
        except UnicodeDecodeError:
            continue
        findings += [
            f"{file.relative_to(root)}:{text.count(chr(10), 0, found.start()) + 1}: {found.group()}"
            for found in MACHINE_PATHS.finditer(text)
        ]
    report(findings)


def test_links_in_the_docs_resolve(project_files, root, report):
    findings = []
    for page in (file for file in project_files if file.suffix == ".md"):
        for target in LINK.findall(FENCE.sub("", page.read_text())):
            if "://" in target or target.startswith("mailto:"):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.exists():
                findings.append(f"{page.relative_to(root)}: no file {target}")
            elif anchor and file.suffix == ".md" and anchor not in _anchors(file):
                findings.append(f"{page.relative_to(root)}: no heading {target}")
    report(findings)


def test_every_dependency_has_its_reason(project, root, report):
    text = (root / "docs" / "decisions" / "0002-dependencies.md").read_text()
    lines = [
        *project["project"]["dependencies"],
        *(line for extra in project["project"]["optional-dependencies"].values() for line in extra),
        *(line for group in project["dependency-groups"].values() for line in group),
    ]
    names = {re.match(r"[\w-]+", line).group() for line in lines}
    report(
        [
            f"{name}: no reason in 0002-dependencies.md"
            for name in sorted(names)
            if name not in text and name[:6] != "types-"
        ]
    )


def test_decisions_are_numbered_without_gaps(root):
    numbers = sorted(int(page.name[:4]) for page in (root / "docs" / "decisions").glob("[0-9]*.md"))
    assert numbers == list(range(1, len(numbers) + 1))


def _anchors(page):
    """The anchors that GitHub makes of a page's headings."""
    headings = HEADING.findall(FENCE.sub("", page.read_text()))
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}
