// One receipt without what was told; in Python: graphmem.operations.receipts. Takes `receipt`.
[receipt.id, receipt.at, receipt.operation, receipt.question, receipt.face, receipt.sequence, receipt.ranking,
 size(receipt.behind), receipt.agent, receipt.client, receipt.by]
