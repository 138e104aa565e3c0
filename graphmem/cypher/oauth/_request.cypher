// One authorization request; in Python: graphmem.auth.grants.AuthorizationRequest. Takes `request`.
[request.client_id, request.client_name, request.redirect_uri, request.state, request.resource, request.scopes,
  request.expires_at]
