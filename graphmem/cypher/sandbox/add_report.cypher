// sandbox.add_report: file a report, unless too many wait, of all senders or of this one; no row then.
//
// params  id: STRING, token_digest: STRING, reason: STRING, description: STRING, entity_id: STRING, url: STRING,
//         contact: STRING, address: STRING, now: INTEGER, limit: INTEGER, sender_limit: INTEGER
// returns id: STRING
// mode    write
// index   sandbox_report_by_status (status, submitted_at, id)
// cost    light
// sealing address: clear, contact: sealed at id, description: sealed at id, reason: clear,
//         url: sealed at id
// tenancy global: reports are for whoever runs the sandbox, and no owner's data
CALL () {
  MATCH (waiting:SandboxReport)
  USING INDEX SEEK waiting:SandboxReport(status, submitted_at, id)
  WHERE waiting.status = 'received' AND waiting.submitted_at IS NOT NULL AND waiting.id IS NOT NULL
  RETURN count(*) AS waiting, count(CASE waiting.address WHEN $address THEN 1 END) AS of_sender
}
WITH waiting, of_sender WHERE waiting < $limit AND of_sender < $sender_limit
CREATE (report:SandboxReport {id: $id, token_digest: $token_digest, status: 'received', reason: $reason,
  description: $description, entity_id: $entity_id, url: $url, contact: $contact, address: $address, submitted_at: $now})
RETURN report.id AS id
