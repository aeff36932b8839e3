"""Running pulls: the loop between a policy and the workers. Nothing here is public."""
