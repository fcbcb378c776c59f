"""Ray Data: write a small corpus to files, then count its words in parallel.

usage: python words.py FILES
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path

import ray

FILES = int(sys.argv[1])
LINES = ["the gate opens", "the fair share of the gate", "a share is a share"]

ray.init()
ray.data.DataContext.get_current().enable_progress_bars = False
with tempfile.TemporaryDirectory() as folder:
    for number in range(FILES):
        (Path(folder) / f"part-{number}.txt").write_text("\n".join(LINES * 50))
    words = ray.data.read_text(folder).flat_map(lambda row: [{"word": word} for word in row["text"].split()])
    counts = Counter(row["word"] for row in words.iter_rows())
print(f"{sum(counts.values())} words in {FILES} files; the three most frequent: {counts.most_common(3)}")
