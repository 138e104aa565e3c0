// The property of `entity` by which a page is ordered. Takes `$key`.
CASE $key WHEN 'name_key' THEN entity.name_key WHEN 'last_observation_at' THEN entity.last_observation_at
  WHEN 'observation_count' THEN entity.observation_count WHEN 'created_at' THEN entity.created_at
  WHEN 'updated_at' THEN entity.updated_at END
