"""``python -m fairgate`` is ``fairgate``."""

from fairgate._cli.main import run

if __name__ == "__main__":
    run()
