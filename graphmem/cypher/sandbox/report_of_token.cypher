// sandbox.report_of_token: the report of an access token.
//
// params  token_digest: STRING
// returns report: LIST
// mode    read
// index   sandbox_report_token
// cost    light
// tenancy global: reports are for whoever runs the sandbox, and no owner's data
MATCH (report:SandboxReport {token_digest: $token_digest})
RETURN <sandbox._report> AS report
