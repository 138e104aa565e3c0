// The place after all that an owner has written. Takes `owner`, which is null if that is nothing.
{node_key: coalesce(owner.node_key, ''), sequence: coalesce(owner.sequence, 0), part: 999999999}
