"""Files and megabytes per second by format: `python -m tests.bench.parsing`.

Each format is measured on its smallest fixture (files per second, process and pipe included) and on a large
file (MB per second of CPU time, in this process); the last column has the seconds of CPU time that its
proposal takes. The last lines are those of a table of 10,000 rows with 10 columns. Figures of one run can be
compared with each other.
"""

from __future__ import annotations

import asyncio
import gc
import io
import json
import time
import zipfile
from pathlib import Path

from graphmem.ingest import propose
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, ParsedDocument
from graphmem.ingest.parsing import parsed
from graphmem.ingest.pipe import lines, read_lines
from tests.ingest.goldens import FILES, document

ROUNDS = 20
ROWS = 10_000
COLUMNS = 10
UNLIMITED = DocumentLimits(
    text_characters=10**9, parts=10**7, cells=10**8, inflated_bytes=1 << 33, inflation_ratio=10**6
)


def main() -> None:
    """Print one line per format."""
    titles = ("large file", "parse MB/s", "with pipe", "propose s")
    print(f"{'format':10} {'files/s':>8}   {' '.join(f'{title:>10}' for title in titles)}")
    smallest = {document(file).get("format"): file for file in sorted(FILES, key=lambda f: -f.stat().st_size)}
    for name, file in smallest.items():
        rate = asyncio.run(files_per_second(file))
        data = large(file)
        gc.disable()  # As in the process that parses.
        begun = time.process_time()
        value = parsed_here(data, None, file.name, UNLIMITED)
        alone = time.process_time() - begun
        gc.enable()
        read = read_lines(lines(value), UNLIMITED)
        whole = time.process_time() - begun
        megabytes = len(data) / 1e6
        print(
            f"{name:10} {rate:8.0f}   {megabytes:7.2f} MB {megabytes / alone:10.2f} {megabytes / whole:10.2f}"
            f" {proposing(read, file.name):10.3f}"
            f"   {len(value.text):,} characters, {len(value.parts):,} parts"
        )
    table_of_rows()


def proposing(document: ParsedDocument, name: str) -> float:
    """Return the seconds of CPU time that the proposal of a document takes."""
    begun = time.process_time()
    propose(document, file_name=name)
    return time.process_time() - begun


def table_of_rows() -> None:
    """Print what a table of 10,000 rows costs, from its bytes to its proposal."""
    header = ",".join(f"Column {number}" for number in range(COLUMNS))
    row = ",".join(f"text {number}" for number in range(COLUMNS - 3))
    rows = (f"{number},Name {number},{number}@example.org,{row}" for number in range(ROWS))
    data = "\n".join([header, *rows]).encode()
    begun = time.process_time()
    value = parsed_here(data, None, "rows.csv", UNLIMITED)
    parsed_at = time.process_time()
    read = read_lines(lines(value), UNLIMITED)
    read_at = time.process_time()
    seconds = proposing(read, "rows.csv")
    print(
        f"{ROWS:,} rows of {COLUMNS} columns: parse {parsed_at - begun:.2f} s, "
        f"pipe {read_at - parsed_at:.2f} s, propose {seconds:.2f} s of CPU time"
    )


async def files_per_second(file: Path) -> float:
    """Parse a fixture several times, one after the other."""
    await parsed(file, None, file.name)
    begun = time.perf_counter()
    for _ in range(ROUNDS):
        await parsed(file, None, file.name)
    return ROUNDS / (time.perf_counter() - begun)


def large(file: Path) -> bytes:
    """Return a file of about a megabyte made from a fixture, or the fixture where that needs its program."""
    data = file.read_bytes()
    match file.suffix:
        case ".txt" | ".csv" | ".tsv" | ".jsonl" | ".vcf":
            return data * (1_000_000 // len(data))
        case ".mbox":
            return (data + b"\n") * (1_000_000 // len(data))
        case ".ics":
            # Entries of one UID are one entry.
            copies = range(1_000_000 // len(data))
            return b"".join(data.replace(b"UID:", f"UID:{number}-".encode()) for number in copies)
        case ".md":
            return data + b"\n" + data.rpartition(b"---\n\n")[2] * (1_000_000 // len(data))
        case ".html":
            return data.replace(
                b"</body>", data.partition(b"</nav>")[2].partition(b"<pre>")[0] * 1_000 + b"</body>"
            )
        case ".json":
            values = json.loads(data)
            values = values if isinstance(values, list) else [values]
            return json.dumps(values * (1_000_000 // len(data))).encode()
        case ".eml":
            return data + b"A line of the body of this message.\n" * 25_000
        case ".docx" | ".odt":
            member = "word/document.xml" if file.suffix == ".docx" else "content.xml"
            begin, end = (
                (b"<w:p>", b"<w:sectPr") if file.suffix == ".docx" else (b"<text:p ", b"</office:text>")
            )
            return repeated(data, member, begin, end, 300)
        case ".xlsx":
            return workbook()
        case _:
            return data


def repeated(data: bytes, member: str, begin: bytes, end: bytes, times: int) -> bytes:
    """Return an archive in one member of which the content between two marks comes many times."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == member:
                start, stop = content.index(begin), content.rindex(end)
                content = content[:start] + content[start:stop] * times + content[stop:]
            new.writestr(name, content)
    return stream.getvalue()


def workbook() -> bytes:
    """Return a workbook of 20,000 rows with 10 columns."""
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Rows")
    sheet.append([f"Column {number}" for number in range(10)])
    for row in range(20_000):
        sheet.append([row, f"Name {row}", row / 7, *[f"text {number}" for number in range(7)]])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


if __name__ == "__main__":
    main()
