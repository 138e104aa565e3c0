// sandbox.report_by_id: one report.
//
// params  id: STRING
// returns report: LIST
// mode    read
// index   sandbox_report_id
// cost    light
// tenancy global: reports are for whoever runs the sandbox, and no owner's data
MATCH (report:SandboxReport {id: $id})
RETURN <sandbox._report> AS report
