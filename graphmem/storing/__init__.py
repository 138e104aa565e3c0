"""From an operation to the owner's writer: shared arguments, files of requests, and the parts of receipts."""
