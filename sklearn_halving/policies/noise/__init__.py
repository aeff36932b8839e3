"""How noisy each arm is, and how sure a choice among arms is."""
