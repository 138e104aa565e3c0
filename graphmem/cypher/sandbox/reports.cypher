// sandbox.reports: some reports of a status, oldest first.
//
// params  status: STRING, limit: INTEGER
// returns report: LIST
// mode    read
// index   sandbox_report_by_status (status, submitted_at, id)
// cost    light
// tenancy global: reports are for whoever runs the sandbox, and no owner's data
MATCH (report:SandboxReport)
USING INDEX SEEK report:SandboxReport(status, submitted_at, id)
WHERE report.status = $status AND report.submitted_at IS NOT NULL AND report.id IS NOT NULL
WITH report ORDER BY report.status, report.submitted_at, report.id LIMIT $limit
RETURN <sandbox._report> AS report
