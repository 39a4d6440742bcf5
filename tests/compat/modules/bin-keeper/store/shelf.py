from pathlib import Path

FILE = Path(__file__).parent.parent / "shelf.txt"


def put(what):
    with FILE.open("a") as file:
        file.write(what + "\n")
    return FILE.read_text().splitlines()
