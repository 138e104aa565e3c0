"""Which encodings are read as they were written: `python -m tests.bench.encodings`.

A row for each encoding: how many texts are right of those that were tried, with 20 and with 200 letters
beyond ASCII, and as what the others were read. A text is right if it is the text that was written.
"""

from __future__ import annotations

import time
from collections import Counter

from graphmem.ingest.decoding import decoded
from tests.support.encoded_texts import ENCODINGS, LENGTHS, SHAPES, encoded

SEEDS = range(3)


def main() -> None:
    """Print the table."""
    print(f"{'encoding':12} {'20 letters':>12} {'200 letters':>12}  read as")
    totals, seconds = {letters: [0, 0] for letters in LENGTHS}, 0.0
    for encoding, languages in ENCODINGS.items():
        counts, others = {letters: [0, 0] for letters in LENGTHS}, Counter[str]()
        for language in languages:
            for shape in SHAPES:
                for letters in LENGTHS:
                    for seed in SEEDS:
                        text = encoded(encoding, language, shape, letters, seed)
                        begin = time.process_time()
                        answer = decoded(text.data)
                        seconds += time.process_time() - begin
                        is_right = answer.text == text.text
                        for each in (counts, totals):
                            each[letters][0] += is_right
                            each[letters][1] += 1
                        others.update([] if is_right else [f"{language} {answer.encoding}"])
        cells = [f"{right}/{tried}" for right, tried in counts.values()]
        wrong = ", ".join(f"{name} ({count})" for name, count in others.most_common(4))
        print(f"{encoding:12} {cells[0]:>12} {cells[1]:>12}  {wrong}")
    shares = [f"{right / tried:.3f}" for right, tried in totals.values()]
    print(f"{'all':12} {shares[0]:>12} {shares[1]:>12}  {seconds:.1f} s of CPU")


if __name__ == "__main__":
    main()
