"""How pulls run: the loop between a policy and workers. Nothing here is public."""
