// A public sandbox: what visitors report, and who may change the shared account at a time.
CREATE CONSTRAINT sandbox_report_id IF NOT EXISTS FOR (n:SandboxReport) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT sandbox_report_token IF NOT EXISTS FOR (n:SandboxReport) REQUIRE n.token_digest IS UNIQUE;
CREATE INDEX sandbox_report_by_status IF NOT EXISTS FOR (n:SandboxReport) ON (n.status, n.submitted_at, n.id);
