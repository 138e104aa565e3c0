"""``python -m tests.bench.retrieval``: how much of what answers a question is found, beside plain BM25.

The sets are generated, with a language of their own (:mod:`tests.bench.retrieval.words`), and are the same in
every run.
"""
