// sandbox.drop_reports: drop some reports of a status that were filed before a time.
//
// params  status: STRING, before: INTEGER, limit: INTEGER
// returns dropped: INTEGER
// mode    write
// index   sandbox_report_by_status (status, submitted_at, id)
// cost    light
// tenancy global: reports are for whoever runs the sandbox, and no owner's data
MATCH (report:SandboxReport)
USING INDEX SEEK report:SandboxReport(status, submitted_at, id)
WHERE report.status = $status AND report.submitted_at < $before AND report.id IS NOT NULL
WITH report LIMIT $limit
DELETE report
RETURN count(*) AS dropped
