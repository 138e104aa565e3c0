// One report; in Python: graphmem.sandbox.reports.Report. Takes `report`.
[report.id, report.status, report.reason, report.description, report.entity_id, report.url, report.contact, report.address,
  report.submitted_at, report.decided_at, report.notes]
