// sandbox.decide_report: decide a report, and forget how to reach who sent it.
//
// params  id: STRING, status: STRING, notes: STRING, now: INTEGER
// returns report: LIST
// mode    write
// index   sandbox_report_id
// cost    light
// sealing notes: sealed at id
// tenancy global: reports are for whoever runs the sandbox, and no owner's data
MATCH (report:SandboxReport {id: $id})
SET report.status = $status, report.notes = $notes, report.decided_at = $now, report.contact = null, report.address = null
RETURN <sandbox._report> AS report
