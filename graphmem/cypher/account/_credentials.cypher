// The keys, codes, subscriptions, copies and grants of an account; the grants are erased with their codes and tokens. Takes
// `account`; gives `keys`, `codes`, `key_count` and `grant_count`.
WITH account, [(account)-[:has_key]->(key:ApiKey) | key] AS keys,
  [(account)-[:has_code|has_agent_grant|subscribed|has_copy]->(code:OneTimeCode|AgentGrant|Subscription|Copy) | code] AS codes,
  [(account)-[:granted]->(grant:OAuthGrant) | grant] AS grants
WITH account, keys, codes, grants, size(keys) AS key_count, size(grants) AS grant_count
CALL (grants) {
  UNWIND grants AS grant
  OPTIONAL MATCH (grant)-[:issued]->(issued)
  DETACH DELETE issued, grant
}
